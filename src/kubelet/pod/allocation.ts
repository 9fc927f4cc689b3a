import type { Container, ContainerStatus, Pod, ResourceRequirements } from '../../api/generated/core-v1.ts'
import { deepEqual } from '../../base/deep-equal.ts'

/** What is told of a resize that is not done yet. */
export interface ResizeState {
  readonly reason?: string
  readonly message?: string
}

type Resources = Pick<ResourceRequirements, 'requests' | 'limits'>

/**
 * The resources of a pod's containers, in the three steps of a resize (KEP-1287): desired, as the spec has them;
 * allocated, as this node has promised them; actuated, as the runtime was told. The pod's status in the API remembers
 * the last two, so a kubelet that starts anew goes on from there.
 */
export class PodAllocation {
  /** Why the node cannot give what is desired. */
  pending: ResizeState | undefined
  /** What is allocated is not all actuated. */
  inProgress: ResizeState | undefined
  #allocated: ReadonlyMap<string, Resources> | undefined
  readonly #actuated = new Map<string, Resources>()

  constructor({ status }: Pod) {
    const statuses = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])]
    const known = statuses.filter(({ resources }) => resources !== undefined)
    if (known.length === 0) return
    this.#allocated = new Map(known.map((one) => [one.name, allocatedBefore(one)]))
    for (const { name, state, resources } of known) if (state?.running) this.#actuated.set(name, computeOf(resources))
  }

  /** The pod as this node has promised it; until it is admitted, as it wishes to be. */
  of(pod: Pod): Pod {
    const { spec } = pod
    if (!spec || !this.differsFrom(pod)) return pod
    const given = (containers: Container[]) => containers.map((one) => this.#given(one))
    return {
      ...pod,
      spec: {
        ...spec,
        containers: given(spec.containers),
        ...(spec.initContainers && { initContainers: given(spec.initContainers) }),
      },
    }
  }

  differsFrom(desired: Pod): boolean {
    return this.#allocated !== undefined && containersOf(desired).some((one) => this.#given(one) !== one)
  }

  allocate(desired: Pod): void {
    this.#allocated = new Map(containersOf(desired).map(({ name, resources }) => [name, computeOf(resources)]))
  }

  /** The runtime runs it with these resources. */
  actuated(container: Container): void {
    this.#actuated.set(container.name, computeOf(container.resources))
  }

  /** The container with the resources it runs with. */
  actual(container: Container): Container {
    const known = this.#actuated.get(container.name)
    return known && !deepEqual(known, computeOf(container.resources)) ? withResources(container, known) : container
  }

  /** Whether what changes can only be had by a new start. */
  needsRestart(container: Container): boolean {
    const before = this.actual(container)
    if (before === container) return false
    const policies = container.resizePolicy ?? []
    return policies.some(
      ({ resourceName, restartPolicy }) =>
        restartPolicy === 'RestartContainer' &&
        (['requests', 'limits'] as const).some(
          (list) => before.resources?.[list]?.[resourceName] !== container.resources?.[list]?.[resourceName],
        ),
    )
  }

  #given(container: Container): Container {
    const allocated = this.#allocated?.get(container.name)
    return allocated && !deepEqual(allocated, computeOf(container.resources))
      ? withResources(container, allocated)
      : container
  }
}

export const containersOf = ({ spec }: Pod): Container[] => [
  ...(spec?.initContainers ?? []),
  ...(spec?.containers ?? []),
]

const withResources = (container: Container, resources: Resources): Container => {
  const { requests: _requests, limits: _limits, ...others } = container.resources ?? {}
  return { ...container, resources: { ...others, ...resources } }
}

/** An empty list is none: the API drops it. */
const computeOf = ({ requests = {}, limits = {} }: ResourceRequirements = {}): Resources => ({
  ...(Object.keys(requests).length > 0 && { requests }),
  ...(Object.keys(limits).length > 0 && { limits }),
})

const allocatedBefore = ({ resources, allocatedResources: requests }: ContainerStatus): Resources =>
  computeOf({ ...resources, requests })
