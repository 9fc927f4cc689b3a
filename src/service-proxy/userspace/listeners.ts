/** The listeners of the proxy, as the service table asks for them, and the table as the kernel should see it. */
import { getOrCreate } from '../../base/get-or-create.ts'
import type { PortSource } from '../nftables/nftables-backend.ts'
import type { Endpoint, ServicePort, ServicePortKey } from '../service-port.ts'
import type { ListenerAddress } from './listener-guard.ts'
import type { Relay, RelayTargets } from './relay.ts'

/** A port under a Local policy has two: one leads to any endpoint, one to those of this node. */
export type Scope = 'cluster' | 'local'

interface OpenListener {
  readonly endpoint: Endpoint
  readonly address: ListenerAddress
  targets: RelayTargets
}

type PortListeners = Map<Scope, OpenListener>

const SCOPES: readonly Scope[] = ['cluster', 'local']

export class Listeners {
  readonly #nodeIPs: readonly string[]
  readonly #open = new Map<ServicePortKey, PortListeners>()

  constructor(nodeIPs: readonly string[]) {
    this.#nodeIPs = nodeIPs
  }

  keys(): IterableIterator<ServicePortKey> {
    return this.#open.keys()
  }

  clear(): void {
    this.#open.clear()
  }

  /** Where all that are open listen. */
  *addresses(): Generator<ListenerAddress> {
    for (const listeners of this.#open.values()) for (const { address } of listeners.values()) yield address
  }

  /** Opens and changes what these ports ask for; the ids of listeners that nobody asks for any more. */
  async update(relay: Relay, table: PortSource, keys: Iterable<ServicePortKey>): Promise<string[]> {
    const unused: string[] = []
    const opening: Promise<void>[] = []
    for (const key of keys) {
      const port = table.get(key)
      for (const scope of SCOPES) {
        const wanted = port && isProxied(port) ? endpointsOf(port, scope) : []
        const known = this.#open.get(key)?.get(scope)
        if (wanted.length > 0 && !known) opening.push(this.#openOne(relay, port!, scope))
        else if (wanted.length > 0) this.#change(relay, port!, scope, known!)
        else if (known) unused.push(idOf(key, scope))
      }
    }
    await Promise.all(opening)
    return unused
  }

  /** When no rule leads there any more. */
  close(relay: Relay, ids: readonly string[]): void {
    for (const id of ids) {
      relay.close(id)
      const [scope, key] = [id.slice(0, id.indexOf(' ')) as Scope, id.slice(id.indexOf(' ') + 1)]
      const listeners = this.#open.get(key)
      listeners?.delete(scope)
      if (listeners?.size === 0) this.#open.delete(key)
    }
  }

  /** The same ports, but each leads to its listeners. */
  view(table: PortSource): PortSource {
    const led = (port: ServicePort) => this.#ledToListeners(port)
    return {
      get(key) {
        const port = table.get(key)
        return port && led(port)
      },
      *ports() {
        for (const port of table.ports()) yield led(port)
      },
    }
  }

  /** The endpoints behind a listener, by its port. */
  behind(listenerPort: number): readonly string[] {
    for (const listeners of this.#open.values()) {
      for (const { endpoint, targets } of listeners.values()) {
        if (endpoint.port !== listenerPort) continue
        return targets.endpoints.map(({ ip, port }) => (ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`))
      }
    }
    return []
  }

  #ledToListeners(port: ServicePort): ServicePort {
    if (!isProxied(port)) return port
    const listeners = this.#open.get(port.key)
    const lead = (scope: Scope) => {
      const listener = listeners?.get(scope)
      return listener && endpointsOf(port, scope).length > 0 ? [listener.endpoint] : []
    }
    // The proxy itself keeps clients at their endpoints.
    return { ...port, affinitySeconds: undefined, clusterEndpoints: lead('cluster'), localEndpoints: lead('local') }
  }

  async #openOne(relay: Relay, port: ServicePort, scope: Scope): Promise<void> {
    const ip = this.#nodeIPs.find((one) => one.includes(':') === (port.family === 'IPv6'))
    if (ip === undefined) return
    const targets = targetsOf(port, scope)
    const { family, protocol } = port
    const id = idOf(port.key, scope)
    const number = await relay.open({ id, family, ip, protocol: protocol as 'TCP' | 'UDP', ...targets })
    const endpoint: Endpoint = { ip, port: number, isLocal: false, id: `${ip} ${number}` }
    const address = { family, ip, protocol, port: number }
    getOrCreate(this.#open, port.key, () => new Map()).set(scope, { endpoint, address, targets })
  }

  #change(relay: Relay, port: ServicePort, scope: Scope, listener: OpenListener): void {
    const targets = targetsOf(port, scope)
    if (JSON.stringify(targets) === JSON.stringify(listener.targets)) return
    listener.targets = targets
    relay.change(idOf(port.key, scope), targets)
  }
}

/** SCTP has streams that no socket of Node knows: the kernel leads it to endpoints, as in the other modes. */
const isProxied = ({ protocol }: ServicePort) => protocol !== 'SCTP'

const endpointsOf = (port: ServicePort, scope: Scope): readonly Endpoint[] =>
  scope === 'cluster' ? port.clusterEndpoints : port.localEndpoints

const idOf = (key: ServicePortKey, scope: Scope) => `${scope} ${key}`

const targetsOf = (port: ServicePort, scope: Scope): RelayTargets => ({
  endpoints: endpointsOf(port, scope).map(({ ip, port: number }) => ({ ip, port: number })),
  affinityMs: (port.affinitySeconds ?? 0) * 1000,
})
