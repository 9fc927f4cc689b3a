import type { LoadBalancerIngress, Service } from '../../api/generated/core-v1.ts'
import { serviceKind } from '../../api/kinds/core/service/kind.ts'
import { deepEqual } from '../../base/deep-equal.ts'
import {
  addressesOf,
  type CIDR,
  cidrContains,
  formatIP,
  type IPFamily,
  parseCIDR,
  parseIP,
} from '../../base/ip-address.ts'
import { type Controller, type ControllerContext, ownKey, watch } from '../controller.ts'

export interface LoadBalancerContext extends ControllerContext {
  /** Where addresses of load balancers come from, at most one range per family; without any the controller rests. */
  readonly loadBalancerPools?: readonly string[]
}

/**
 * Gives Services of type LoadBalancer an address of their own. Nothing else is needed: the addresses of the pool are
 * routed to the nodes, and every node's proxy knows them.
 *
 * Which addresses are taken is read from the Services alone; one worker hands them out, so none is given twice.
 */
export function loadBalancerController(context: LoadBalancerContext): Controller {
  const { client, informers, events } = context
  const pools = (context.loadBalancerPools ?? []).map((cidr) => parseCIDR(cidr)!)
  const services = informers.informer(serviceKind)
  /** Written, but perhaps not yet seen by the informer: service key by address. */
  const granted = new Map<string, string>()

  function isTaken(address: string, key: string): boolean {
    const owner = granted.get(address)
    if (owner !== undefined && owner !== key && services.get(owner)) return true
    return services.list().some((service) => keyOf(service) !== key && addressesGiven(service).includes(address))
  }

  /** What it has stays; what is asked for is given if it is free; else the first free one. */
  function choose(pool: CIDR, service: Service): string | undefined {
    const key = keyOf(service)
    const asked = service.spec?.loadBalancerIP
    const wanted = asked && isIn(pool, asked) ? [asked] : addressesGiven(service).filter((ip) => isIn(pool, ip))
    const kept = wanted.find((ip) => !isTaken(ip, key))
    if (kept !== undefined || (asked && isIn(pool, asked))) return kept
    for (const ip of addressesOf(pool)) {
      const address = formatIP(ip)
      if (ip.value !== pool.first && ip.value !== pool.last && !isTaken(address, key)) return address
    }
    return undefined
  }

  function ingressFor(service: Service): LoadBalancerIngress[] {
    const families = (service.spec?.ipFamilies ?? ['IPv4']) as IPFamily[]
    return families.flatMap((family) => {
      const pool = pools.find((candidate) => candidate.family === family)
      const ip = pool && choose(pool, service)
      return ip === undefined ? [] : [{ ip, ipMode: 'VIP' }]
    })
  }

  async function setIngress(service: Service, ingress: LoadBalancerIngress[]): Promise<void> {
    const { loadBalancer, ...status } = service.status ?? {}
    if (
      deepEqual(
        (loadBalancer?.ingress ?? []).map(({ ip }) => ip),
        ingress.map(({ ip }) => ip),
      )
    )
      return
    for (const { ip } of ingress) granted.set(ip!, keyOf(service))
    const changed = { ...service, status: { ...status, loadBalancer: ingress.length > 0 ? { ingress } : {} } }
    await client.resource(serviceKind).updateStatus(changed)
  }

  return {
    name: 'service-lb-controller',
    watches: [watch(services, (old, current) => (pools.length > 0 ? ownKey(old, current) : []))],
    async reconcile(key) {
      const service = services.get(key)
      if (!service || service.metadata.deletionTimestamp) return forget(granted, key)
      if (service.spec?.type !== 'LoadBalancer') {
        forget(granted, key)
        return setIngress(service, [])
      }
      if (service.spec.loadBalancerClass !== undefined) return
      const ingress = ingressFor(service)
      if (ingress.length === 0) {
        const { loadBalancerIP = 'any address of the pool' } = service.spec
        events.event(service, 'Warning', 'SyncLoadBalancerFailed', `${loadBalancerIP} is not free`)
        return { retryAfter: RETRY }
      }
      const isNew = addressesGiven(service).length === 0
      await setIngress(service, ingress)
      if (isNew) events.event(service, 'Normal', 'EnsuredLoadBalancer', 'Ensured load balancer')
    },
  }
}

/** Another Service may give its address back. */
const RETRY = 5000

const keyOf = ({ metadata }: Service) => `${metadata.namespace}/${metadata.name}`

const addressesGiven = (service: Service) =>
  (service.status?.loadBalancer?.ingress ?? []).flatMap(({ ip }) => (ip === undefined ? [] : [ip]))

function isIn(pool: CIDR, address: string): boolean {
  const ip = parseIP(address)
  return ip !== undefined && ip.family === pool.family && cidrContains(pool, ip)
}

function forget(granted: Map<string, string>, key: string): void {
  for (const [address, owner] of granted) if (owner === key) granted.delete(address)
}
