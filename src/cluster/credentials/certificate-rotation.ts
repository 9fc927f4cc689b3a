import type { Clock, Timer } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import type { ClusterCertificates } from '../certificates.ts'

const HOUR = 60 * 60 * 1000

export interface RotationOptions {
  readonly certificates: ClusterCertificates
  /** Of the real world: certificates are checked by its time. */
  readonly clock: Clock
  readonly log: Logger
  /** Hears of new ones. */
  onRenewed(certificates: ClusterCertificates): Promise<void> | void
}

/** Looks every hour whether certificates are past half of their life, and has new ones made while all goes on. */
export function rotateCertificates(options: RotationOptions): AsyncDisposable {
  const { certificates, clock, log, onRenewed } = options
  let timer: Timer
  let isOver = false
  const look = async () => {
    if (!(await certificates.renew())) return
    log.info('the certificates of the cluster are new')
    await onRenewed(certificates)
  }
  const arm = () => {
    timer = clock.after(HOUR, () => {
      look()
        .catch((error: unknown) => log.error('certificates could not be renewed', { error }))
        .finally(() => !isOver && arm())
    })
    timer.unref()
  }
  arm()
  return {
    async [Symbol.asyncDispose]() {
      isOver = true
      timer.cancel()
    },
  }
}
