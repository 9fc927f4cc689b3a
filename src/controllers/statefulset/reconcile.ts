import type { ControllerRevision, StatefulSet } from '../../api/generated/apps-v1.ts'
import type { Pod } from '../../api/generated/core-v1.ts'
import type { ControllerContext } from '../controller.ts'
import { templateOf } from '../controller-revision/history.ts'
import { isFinished, isTerminating } from '../pod-control/pod-state.ts'
import { slowStart } from '../pod-control/slow-start.ts'
import { ClaimControl } from './claims.ts'
import { missingIdentity, newPod, ordinalOf, startOrdinal } from './identity.ts'
import { StatefulPodControl } from './pods.ts'
import { isRunningAndAvailable, isRunningAndReady, isUnavailable } from './status.ts'
import { podsToUpdate, type Slot } from './update.ts'

interface Members {
  /** One for each ordinal that is wanted, ascending. */
  readonly slots: readonly Slot[]
  /** Pods of ordinals that are not wanted, descending. */
  readonly condemned: readonly Pod[]
}

export interface SetRevisions {
  readonly current: ControllerRevision
  readonly update: ControllerRevision
}

/** `'wait'` ends this turn: what comes next needs something to happen first. */
type Turn = 'wait' | 'go on'

/** Brings the pods of one StatefulSet a step further: first those that are wanted, then those that are not, then updates. */
export class StatefulSetReconciler {
  readonly claims: ClaimControl
  readonly #context: ControllerContext
  readonly #pods: StatefulPodControl

  constructor(context: ControllerContext) {
    this.#context = context
    this.#pods = new StatefulPodControl(context)
    this.claims = new ClaimControl(context)
  }

  async reconcile(set: StatefulSet, pods: readonly Pod[], revisions: SetRevisions): Promise<void> {
    const members = sortOut(set, pods)
    const firstUnhealthy = this.#firstUnhealthy(set, members)
    const isOrdered = set.spec?.podManagementPolicy !== 'Parallel'
    const turns: (() => Promise<Turn>)[] = [
      () => each(members.slots, isOrdered, (slot) => this.#keep(set, slot, revisions, isOrdered)),
      () => each(members.condemned, isOrdered, (pod) => this.#retain(set, pod)),
      () => each(members.condemned, isOrdered, (pod) => this.#remove(set, pod, firstUnhealthy, isOrdered)),
      () => this.#update(set, members.slots, revisions.update.metadata.name ?? ''),
    ]
    for (const turn of turns) if ((await turn()) === 'wait') return
  }

  get #now(): number {
    return this.#context.clock.now()
  }

  #firstUnhealthy(set: StatefulSet, { slots, condemned }: Members): Pod | undefined {
    const candidates = [...slots.map((slot) => slot.pod), ...condemned.toReversed()]
    return candidates.find((pod) => pod && isUnavailable(set, pod, this.#now))
  }

  /** Sees to one wanted ordinal. In order means: nothing happens to the next one before this one is available. */
  async #keep(set: StatefulSet, slot: Slot, revisions: SetRevisions, isOrdered: boolean): Promise<Turn> {
    const { ordinal, pod } = slot
    if (!pod) return this.#fill(set, ordinal, revisions, isOrdered)
    if (isFinished(pod)) {
      // Its successor is made when it is gone: there is never more than one of a name.
      if (!isTerminating(pod)) await this.#pods.delete(set, pod)
      return 'wait'
    }
    if (pod.status?.phase === 'Pending' && !isTerminating(pod)) await this.claims.createMissing(set, ordinal)
    if (isOrdered && isUnavailable(set, pod, this.#now)) return 'wait'
    const labels = missingIdentity(pod, ordinal)
    if (labels) await this.#pods.addLabels(set, pod, labels)
    if (!isTerminating(pod)) await this.claims.applyRetention(set, pod, false)
    return 'go on'
  }

  async #fill(set: StatefulSet, ordinal: number, revisions: SetRevisions, isOrdered: boolean): Promise<Turn> {
    if (this.claims.hasStaleClaim(set, ordinal)) return 'wait'
    await this.claims.createMissing(set, ordinal)
    const revision = revisionFor(set, ordinal, revisions)
    const created = await this.#pods.create(set, newPod(set, templateOf(revision), revision.metadata.name!, ordinal))
    await this.claims.applyRetention(set, created, false)
    return isOrdered ? 'wait' : 'go on'
  }

  async #retain(set: StatefulSet, pod: Pod): Promise<Turn> {
    await this.claims.applyRetention(set, pod, true)
    return 'go on'
  }

  async #remove(set: StatefulSet, pod: Pod, firstUnhealthy: Pod | undefined, isOrdered: boolean): Promise<Turn> {
    if (isTerminating(pod)) return isOrdered ? 'wait' : 'go on'
    const isHealthy = isRunningAndReady(pod) && isRunningAndAvailable(set, pod, this.#now)
    // One that is unhealthy goes only when no lower one is: otherwise more would be lost.
    if (isOrdered && !isHealthy && pod !== firstUnhealthy) return 'wait'
    await this.#pods.delete(set, pod)
    return 'wait'
  }

  async #update(set: StatefulSet, slots: readonly Slot[], revision: string): Promise<Turn> {
    for (const pod of podsToUpdate(set, slots, revision, this.#now)) await this.#pods.delete(set, pod)
    return 'go on'
  }
}

/** In order until one must be waited for; or all side by side. */
async function each<T>(items: readonly T[], isOrdered: boolean, act: (item: T) => Promise<Turn>): Promise<Turn> {
  if (isOrdered) {
    for (const item of items) if ((await act(item)) === 'wait') return 'wait'
    return 'go on'
  }
  const { error } = await slowStart(items.length, (index) => act(items[index]!))
  if (error !== undefined) throw error
  return 'go on'
}

function sortOut(set: StatefulSet, pods: readonly Pod[]): Members {
  const start = startOrdinal(set)
  const found = new Map<number, Pod>()
  for (const pod of pods) found.set(ordinalOf(set, pod)!, pod)
  const slots: Slot[] = []
  for (let ordinal = start; ordinal < start + (set.spec?.replicas ?? 0); ordinal++) {
    slots.push({ ordinal, pod: found.get(ordinal) })
    found.delete(ordinal)
  }
  const condemned = [...found].sort(([a], [b]) => b - a).map(([, pod]) => pod)
  return { slots, condemned }
}

/** Below the partition pods are made as they were. */
function revisionFor(set: StatefulSet, ordinal: number, revisions: SetRevisions): ControllerRevision {
  const { type, rollingUpdate } = set.spec?.updateStrategy ?? {}
  if (type === 'OnDelete') return revisions.update
  const former = rollingUpdate ? (rollingUpdate.partition ?? 0) : (set.status?.currentReplicas ?? 0)
  return ordinal < startOrdinal(set) + former ? revisions.current : revisions.update
}
