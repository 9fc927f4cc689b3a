import type { Logger } from '../../base/log.ts'
import type { EventRecorder } from '../../client/events.ts'
import type { RefusedAddress } from '../service-table.ts'

/** Tells users once of each address that a Service does not get: as an Event of the Service, and in the log. */
export class RefusedAddressReports {
  readonly #log: Logger
  readonly #events: EventRecorder
  #told = new Set<string>()

  constructor(events: EventRecorder, log: Logger) {
    this.#events = events
    this.#log = log
  }

  /** `refused` are all of them. */
  tell(refused: Iterable<RefusedAddress>): void {
    const now = new Set<string>()
    for (const { service, uid, address, reason } of refused) {
      const key = `${service} ${address}`
      if (!now.has(key) && !this.#told.has(key)) {
        const [namespace = '', name = ''] = service.split('/')
        const about = { apiVersion: 'v1', kind: 'Service', namespace, name, uid }
        this.#events.event(about, 'Warning', 'AddressRefused', `${address} ${reason}; the proxy does not take it`)
        this.#log.warn('an address of a Service is refused', { service, address, reason })
      }
      now.add(key)
    }
    this.#told = now
  }
}
