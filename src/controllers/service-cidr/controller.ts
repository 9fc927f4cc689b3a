import type { IPAddress, ServiceCIDR } from '../../api/generated/networking-v1.ts'
import { ipAddressKind } from '../../api/kinds/networking/ip-address.ts'
import { serviceCIDRKind } from '../../api/kinds/networking/service-cidr.ts'
import { withCondition } from '../../api/meta/conditions.ts'
import { formatTime } from '../../api/meta/time.ts'
import { type CIDR, cidrContains, cidrsOverlap, parseCIDR, parseIP } from '../../base/ip-address.ts'
import { type Controller, type ControllerContext, ownKey, watch } from '../controller.ts'

const FINALIZER = 'networking.k8s.io/service-cidr-finalizer'
/** Others may still hand out addresses of a range in the moment it is deleted: it is looked at once more. */
const DELETION_GRACE = 10_000
const BLOCKED =
  'There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR'

/** Says which ranges Services get addresses from, and keeps a range until no address depends on it. */
export function serviceCIDRController({ client, informers, clock }: ControllerContext): Controller {
  const ranges = informers.informer(serviceCIDRKind)
  const addresses = informers.informer(ipAddressKind)
  const resource = client.resource(serviceCIDRKind)
  /** When each range was first seen to go with nothing depending on it. */
  const freeSince = new Map<string, number>()

  async function reconcile(name: string) {
    const range = ranges.get(name)
    if (!range) return void freeSince.delete(name)
    if (range.metadata.deletionTimestamp === undefined) return void (await serve(range))
    return release(range)
  }

  async function serve(range: ServiceCIDR): Promise<void> {
    const finalizers = range.metadata.finalizers ?? []
    const held = finalizers.includes(FINALIZER)
      ? range
      : await resource.update({ ...range, metadata: { ...range.metadata, finalizers: [...finalizers, FINALIZER] } })
    if (held.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True')) return
    await setReady(held, 'True', '', 'Kubernetes Service CIDR is ready')
  }

  async function release(range: ServiceCIDR) {
    const { name = '', finalizers = [] } = range.metadata
    if (!finalizers.includes(FINALIZER)) return
    if (dependents(range).length > 0) {
      freeSince.delete(name)
      return void (await setReady(range, 'False', 'Terminating', BLOCKED))
    }
    const since = freeSince.get(name) ?? clock.now()
    freeSince.set(name, since)
    const rest = since + DELETION_GRACE - clock.now()
    if (rest > 0) {
      await setReady(range, 'False', 'Terminating', 'ServiceCIDR is being deleted')
      return { retryAfter: rest }
    }
    const others = finalizers.filter((finalizer) => finalizer !== FINALIZER)
    await resource.update({ ...range, metadata: { ...range.metadata, finalizers: others } })
  }

  /** Addresses that no other range would hold. */
  function dependents(range: ServiceCIDR): IPAddress[] {
    const own = cidrsOf(range)
    const others = ranges.list().filter((other) => other !== range && other.metadata.deletionTimestamp === undefined)
    const rest = others.flatMap(cidrsOf).filter((cidr) => own.some((one) => cidrsOverlap(one, cidr)))
    return addresses.list().filter(({ metadata }) => {
      const ip = parseIP(metadata.name ?? '')
      return ip && own.some((cidr) => cidrContains(cidr, ip)) && !rest.some((cidr) => cidrContains(cidr, ip))
    })
  }

  async function setReady(range: ServiceCIDR, status: string, reason: string, message: string): Promise<void> {
    const known = range.status?.conditions
    const condition = { type: 'Ready', status, reason, message, lastTransitionTime: formatTime(clock.now()) }
    const conditions = withCondition(known, condition, formatTime(clock.now()))
    if (conditions === known) return
    await resource.updateStatus({ ...range, status: { ...range.status, conditions: [...conditions] } })
  }

  /** Ranges that are going: what frees them, an address or another range, may concern any of them. */
  const going = () => ranges.list().flatMap(({ metadata }) => (metadata.deletionTimestamp ? [metadata.name ?? ''] : []))

  return {
    name: 'service-cidr-controller',
    watches: [
      watch(ranges, (old, current) => [...ownKey(old, current), ...going()]),
      watch(addresses, (old, current) => (old && current ? [] : going())),
    ],
    reconcile,
  }
}

const cidrsOf = ({ spec }: ServiceCIDR): CIDR[] => (spec?.cidrs ?? []).flatMap((text) => parseCIDR(text) ?? [])
