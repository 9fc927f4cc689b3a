import type { Container, Pod, PodSpec } from '../../api/generated/core-v1.ts'
import { isSidecar, parseAmount, type ResourceList } from '../../api/kinds/core/pod/resources.ts'
import { milliValue, value } from '../../api/meta/quantity.ts'

/** Amounts by resource name: cpu in thousandths, everything else in units. */
export type Amounts = Map<string, number>

/** What a container without a request is taken to use, when nodes are compared by how full they are. */
export const DEFAULT_CPU = 100
export const DEFAULT_MEMORY = 200 * 1024 * 1024

export function amountOf(resource: string, text: string | number): number {
  const quantity = parseAmount(text)
  if (!quantity) return 0
  return resource === 'cpu' ? milliValue(quantity) : value(quantity)
}

export function amountsOf(list: ResourceList | undefined): Amounts {
  const amounts: Amounts = new Map()
  for (const name in list) amounts.set(name, amountOf(name, list[name]!))
  return amounts
}

type ContainerRequests = (container: Container) => Amounts

/**
 * What a pod takes of a node: all containers and sidecars together, or an init container beside the sidecars started
 * before it, whichever is more; with what the pod itself asks for (KEP-2837) and its overhead.
 */
export function podRequests(pod: Pod): Amounts {
  const spec = pod.spec!
  const total = together(spec, requestsOf(pod))
  if (spec.resources?.requests) for (const [name, amount] of amountsOf(spec.resources.requests)) total.set(name, amount)
  add(total, amountsOf(spec.overhead))
  return total
}

/** CPU and memory with a default for each container that asks for none. */
export function nonZeroRequests(pod: Pod): { cpu: number; memory: number } {
  const spec = pod.spec!
  const requests = requestsOf(pod)
  const total = together(spec, (container) => {
    const own = new Map(requests(container))
    if (!own.has('cpu')) own.set('cpu', DEFAULT_CPU)
    if (!own.has('memory')) own.set('memory', DEFAULT_MEMORY)
    return own
  })
  const ofPod = amountsOf(spec.resources?.requests)
  const overhead = amountsOf(spec.overhead)
  const sum = (name: string) => (ofPod.get(name) ?? total.get(name) ?? 0) + (overhead.get(name) ?? 0)
  return { cpu: sum('cpu'), memory: sum('memory') }
}

function together(spec: PodSpec, requests: ContainerRequests): Amounts {
  const running: Amounts = new Map()
  for (const container of spec.containers) add(running, requests(container))
  if (!spec.initContainers?.length) return running
  const sidecars: Amounts = new Map()
  const starting: Amounts = new Map()
  for (const container of spec.initContainers) {
    const own = requests(container)
    if (isSidecar(container)) {
      add(running, own)
      add(sidecars, own)
      raise(starting, sidecars)
    } else {
      const now = new Map(sidecars)
      add(now, own)
      raise(starting, now)
    }
  }
  raise(running, starting)
  return running
}

/** While a container is being resized, the greater of what it asks for and what it still has counts (KEP-1287). */
function requestsOf(pod: Pod): ContainerRequests {
  const statuses = [...(pod.status?.containerStatuses ?? []), ...(pod.status?.initContainerStatuses ?? [])]
  const resized = new Map(
    statuses.filter((status) => status.resources?.requests || status.allocatedResources).map((s) => [s.name, s]),
  )
  if (resized.size === 0) return (container) => amountsOf(container.resources?.requests)
  const infeasible = pod.status?.conditions?.some(
    (condition) => condition.type === 'PodResizePending' && condition.reason === 'Infeasible',
  )
  return (container) => {
    const status = resized.get(container.name)
    const wanted = amountsOf(container.resources?.requests)
    if (!status) return wanted
    const held = amountsOf(status.resources?.requests)
    raise(held, amountsOf(status.allocatedResources))
    if (!infeasible) raise(held, wanted)
    return held
  }
}

function add(target: Amounts, amounts: Amounts): void {
  for (const [name, amount] of amounts) target.set(name, (target.get(name) ?? 0) + amount)
}

function raise(target: Amounts, floor: Amounts): void {
  for (const [name, amount] of floor) if ((target.get(name) ?? 0) < amount) target.set(name, amount)
}
