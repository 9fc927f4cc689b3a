import type { Pod } from '../../api/generated/core-v1.ts'
import type { PodDisruptionBudget } from '../../api/generated/policy-v1.ts'
import { matchesLabels } from '../../api/meta/label-selector.ts'
import type { OwnerReference } from '../../api/meta/object.ts'
import { getOrCreate } from '../../base/get-or-create.ts'
import { controllerOf, isHealthy, selectorOf } from './pods.ts'

/** A controller of some pods of a budget. */
export interface PodController {
  readonly reference: OwnerReference
  readonly namespace: string
  /** One of its pods, to name in messages. */
  readonly podName: string
  pods: number
}

/**
 * The pods of one budget, counted. It is opened with all pods and told each change after that, so a change costs the
 * same however many pods there are.
 */
export class Tally {
  readonly budget: PodDisruptionBudget
  total = 0
  /** Ready and not on their way out. */
  healthy = 0
  /** Without a controller. */
  unmanaged = 0
  readonly #controllers = new Map<string, PodController>()

  constructor(budget: PodDisruptionBudget, pods: Iterable<Pod>) {
    this.budget = budget
    for (const pod of pods) this.#count(pod, 1)
  }

  get controllers(): Iterable<PodController> {
    return this.#controllers.values()
  }

  covers(pod: Pod): boolean {
    return matchesLabels(selectorOf(this.budget), pod.metadata.labels)
  }

  change(old: Pod | undefined, current: Pod | undefined): void {
    if (old) this.#count(old, -1)
    if (current) this.#count(current, 1)
  }

  #count(pod: Pod, one: 1 | -1): void {
    if (!this.covers(pod)) return
    this.total += one
    if (isHealthy(pod)) this.healthy += one
    const reference = controllerOf(pod)
    if (!reference) {
      this.unmanaged += one
      return
    }
    const { namespace = '', name: podName = '' } = pod.metadata
    const controller = getOrCreate(this.#controllers, reference.uid, () => ({ reference, namespace, podName, pods: 0 }))
    controller.pods += one
    if (controller.pods === 0) this.#controllers.delete(reference.uid)
  }
}
