import type { ControllerRevision, DaemonSet } from '../../api/generated/apps-v1.ts'
import type { Node, Pod } from '../../api/generated/core-v1.ts'
import { daemonSetKind } from '../../api/kinds/apps/daemon-set/kind.ts'
import { nodeKind } from '../../api/kinds/core/node/kind.ts'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import { scaledValue } from '../../api/meta/int-or-string.ts'
import { deepEqual } from '../../base/deep-equal.ts'
import { getOrCreate } from '../../base/get-or-create.ts'
import type { Informer } from '../../client/informer.ts'
import { type ControllerContext, type ReconcileResult, splitKey } from '../controller.ts'
import { type CurrentRevision, RevisionHistory } from '../controller-revision/history.ts'
import { claim } from '../pod-control/claim.ts'
import { Expectations } from '../pod-control/expectations.ts'
import { controllerIndex } from '../pod-control/owner.ts'
import { createPodControl, isNamespaceTerminating, type PodControl } from '../pod-control/pod-control.ts'
import { isTerminating, nextAvailableIn } from '../pod-control/pod-state.ts'
import { compiledSelector } from '../pod-control/selector.ts'
import { slowStart } from '../pod-control/slow-start.ts'
import { daemonPod, HASH_LABEL, hashOf, nodeOf } from './daemon-pod.ts'
import { eligibility } from './eligibility.ts'
import { FailedPodBackoff } from './failed-pods.ts'
import { type DaemonNode, placementSteps, type Situation, type Steps } from './placement.ts'
import { rollingUpdateSteps } from './rolling-update.ts'
import { daemonSetStatus } from './status.ts'

/** Pods that are created or deleted in one go at most. */
const BURST = 250
/** Milliseconds after which to look again when revisions were merged: their informer wakes nobody. */
const MERGED = 100

/** Brings the pods of one DaemonSet to the nodes it is for. */
export class DaemonSetReconciler {
  readonly daemonSets: Informer<DaemonSet>
  readonly nodes: Informer<Node>
  readonly pods: Informer<Pod>
  readonly expectations: Expectations<Pod>
  readonly history: RevisionHistory<DaemonSet>
  readonly #context: ControllerContext
  readonly #podControl: PodControl
  readonly #backoff = new FailedPodBackoff()

  constructor(context: ControllerContext) {
    const { informers, clock } = context
    this.#context = context
    this.daemonSets = informers.informer(daemonSetKind)
    this.nodes = informers.informer(nodeKind)
    this.pods = informers.informer(podKind, { indexes: controllerIndex })
    this.expectations = new Expectations<Pod>(this.pods, clock)
    this.history = new RevisionHistory(context, daemonSetKind, HASH_LABEL)
    this.#podControl = createPodControl(context, this.expectations)
  }

  async reconcile(key: string): Promise<ReconcileResult | void> {
    const daemonSet = this.daemonSets.get(key)
    if (!daemonSet) {
      this.expectations.forget(key)
      this.#backoff.forget(key)
      return
    }
    if (daemonSet.metadata.deletionTimestamp) return
    const pods = await this.#podsOf(daemonSet, key)
    const known = await this.history.list(daemonSet, compiledSelector(daemonSet.spec?.selector))
    const current = await this.history.current(daemonSet, known)
    const duplicates = this.history.duplicates(known, current.revision)
    if (duplicates.length > 0) return this.#merge(daemonSet, pods, duplicates, hashOf(current.revision))
    const situation = this.#situation(daemonSet, pods, current.revision)
    let retryAfter = this.expectations.waitTime(key)
    try {
      if (retryAfter === 0) retryAfter = await this.#act(key, daemonSet, pods, situation)
    } finally {
      await this.#writeStatus(daemonSet, situation, current)
    }
    await this.#truncate(daemonSet, pods, known, current.revision)
    const available = nextAvailableIn(pods, daemonSet.spec?.minReadySeconds, situation.now)
    if (available !== undefined) retryAfter = Math.min(available, retryAfter || available)
    if (retryAfter > 0) return { retryAfter }
  }

  #podsOf(daemonSet: DaemonSet, key: string): Promise<Pod[]> {
    const { client } = this.#context
    const { namespace } = splitKey(key)
    return claim<Pod>({
      owner: daemonSet,
      ownerKind: daemonSetKind,
      selector: compiledSelector(daemonSet.spec?.selector),
      informer: this.pods,
      dependents: client.resource(podKind).namespace(namespace),
      owners: client.resource(daemonSetKind).namespace(namespace),
    })
  }

  #situation(daemonSet: DaemonSet, pods: readonly Pod[], revision: ControllerRevision): Situation {
    const eligible = eligibility(daemonSet)
    const byNode = groupedByNode(pods)
    const nodes: DaemonNode[] = this.nodes.list().map((node) => {
      const name = node.metadata.name ?? ''
      return { name, ...eligible(node), pods: byNode.get(name) ?? [] }
    })
    return {
      nodes,
      hash: hashOf(revision),
      minReadySeconds: daemonSet.spec?.minReadySeconds ?? 0,
      ...limits(daemonSet, nodes.filter((node) => node.shouldRun).length),
      now: this.#context.clock.now(),
    }
  }

  /** Milliseconds after which to look again; 0 if events will tell. */
  async #act(key: string, daemonSet: DaemonSet, pods: readonly Pod[], situation: Situation): Promise<number> {
    const placement = placementSteps(situation)
    const { due, wait } = this.#dueFailures(key, daemonSet, placement.ended, situation.now)
    const remove = [...placement.delete, ...due, ...this.#withoutNode(pods)]
    if (placement.create.length > 0 || remove.length > 0)
      await this.#perform(daemonSet, { create: placement.create, delete: remove }, situation.hash)
    else if (daemonSet.spec?.updateStrategy?.type !== 'OnDelete')
      await this.#perform(daemonSet, rollingUpdateSteps(situation), situation.hash)
    return wait
  }

  /** Pods that have ended are deleted, failed ones after a while; then they are missing and made anew. */
  #dueFailures(key: string, daemonSet: DaemonSet, ended: readonly Pod[], now: number): { due: Pod[]; wait: number } {
    const due: Pod[] = []
    let wait = 0
    for (const pod of ended) {
      const where = `${pod.metadata.namespace}/${pod.metadata.name} on node ${nodeOf(pod)}`
      const hasFailed = pod.status?.phase === 'Failed'
      const delay = hasFailed ? this.#backoff.attempt(key, nodeOf(pod), now) : 0
      if (delay > 0) {
        wait = wait === 0 ? delay : Math.min(wait, delay)
        continue
      }
      due.push(pod)
      const { events } = this.#context
      if (hasFailed)
        events.event(daemonSet, 'Warning', 'FailedDaemonPod', `Found failed daemon pod ${where}, will try to kill it`)
      else
        events.event(
          daemonSet,
          'Normal',
          'SucceededDaemonPod',
          `Found succeeded daemon pod ${where}, will try to delete it`,
        )
    }
    return { due, wait }
  }

  /** Pods that wait for a node that does not exist any more. Those that ran on one are left to pod garbage collection. */
  #withoutNode(pods: readonly Pod[]): Pod[] {
    return pods.filter((pod) => !pod.spec?.nodeName && !isTerminating(pod) && !this.nodes.get(nodeOf(pod)))
  }

  async #perform(daemonSet: DaemonSet, steps: Steps, hash: string): Promise<void> {
    const create = steps.create.slice(0, BURST)
    const removing = Promise.allSettled(
      steps.delete.slice(0, BURST).map((pod) => this.#podControl.delete(daemonSet, pod)),
    )
    const { error } = await slowStart(create.length, (index) =>
      this.#podControl.create(daemonSet, daemonPod(daemonSet, hash, create[index]!)),
    )
    const failure = (await removing).find((result) => result.status === 'rejected')
    if (error !== undefined && !isNamespaceTerminating(error)) throw error
    if (failure) throw failure.reason
  }

  async #writeStatus(daemonSet: DaemonSet, situation: Situation, current: CurrentRevision): Promise<void> {
    const status = daemonSetStatus(daemonSet, situation, current.collisionCount)
    if (deepEqual(status, daemonSet.status)) return
    const resource = this.#context.client.resource(daemonSetKind).namespace(daemonSet.metadata.namespace ?? '')
    await resource.updateStatus({ ...daemonSet, status })
  }

  /** Two revisions of one template would restart pods for nothing: pods move over to the one that stays. */
  async #merge(daemonSet: DaemonSet, pods: readonly Pod[], duplicates: ControllerRevision[], hash: string) {
    const hashes = new Set(duplicates.map(hashOf))
    const resource = this.#context.client.resource(podKind).namespace(daemonSet.metadata.namespace ?? '')
    for (const { metadata } of pods)
      if (hashes.has(metadata.labels?.[HASH_LABEL] ?? ''))
        await resource.patch(metadata.name ?? '', { metadata: { uid: metadata.uid, labels: { [HASH_LABEL]: hash } } })
    await this.history.truncate(daemonSet, duplicates, 0)
    return { retryAfter: MERGED }
  }

  #truncate(daemonSet: DaemonSet, pods: readonly Pod[], known: ControllerRevision[], current: ControllerRevision) {
    const hashes = new Set(pods.map((pod) => pod.metadata.labels?.[HASH_LABEL]))
    const unused = known.filter(
      (revision) => revision.metadata.name !== current.metadata.name && !hashes.has(hashOf(revision)),
    )
    return this.history.truncate(daemonSet, unused, daemonSet.spec?.revisionHistoryLimit ?? 10)
  }
}

function limits(daemonSet: DaemonSet, desired: number): Pick<Situation, 'maxSurge' | 'maxUnavailable'> {
  const { rollingUpdate } = daemonSet.spec?.updateStrategy ?? {}
  const maxSurge = scaledValue(rollingUpdate?.maxSurge ?? 0, desired, 'up') ?? 0
  const maxUnavailable = scaledValue(rollingUpdate?.maxUnavailable ?? 0, desired, 'up') ?? 0
  return { maxSurge, maxUnavailable: maxSurge === 0 && maxUnavailable === 0 ? 1 : maxUnavailable }
}

function groupedByNode(pods: readonly Pod[]): Map<string, Pod[]> {
  const byNode = new Map<string, Pod[]>()
  for (const pod of pods) getOrCreate(byNode, nodeOf(pod), () => []).push(pod)
  return byNode
}
