import type { Pod } from '../../api/generated/core-v1.ts'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import { deepEqual } from '../../base/deep-equal.ts'
import type { Informer } from '../../client/informer.ts'
import {
  type Controller,
  type ControllerContext,
  ownKey,
  type ReconcileResult,
  splitKey,
  watch,
} from '../controller.ts'
import { claim } from '../pod-control/claim.ts'
import { deletionOrder } from '../pod-control/deletion-order.ts'
import { Expectations } from '../pod-control/expectations.ts'
import { controllerIndex, controllerOf, dependentsOf } from '../pod-control/owner.ts'
import {
  createPodControl,
  isNamespaceTerminating,
  type PodControl,
  podFromTemplate,
} from '../pod-control/pod-control.ts'
import { isActive, isFinished, isTerminating, nextAvailableIn } from '../pod-control/pod-state.ts'
import { slowStart } from '../pod-control/slow-start.ts'
import { watchDependents } from '../pod-control/watch-dependents.ts'
import type { ReplicaPods, Replicated, ReplicatedKind } from './replicas.ts'
import { type Failure, replicaStatus } from './status.ts'

/** Pods that are created or deleted in one go at most. */
const BURST = 500
const WORKERS = 5

/** Keeps as many pods as asked for: creates what is missing, deletes what is too much, tells how far it is. */
export function replicaController<T extends Replicated>(
  name: string,
  context: ControllerContext,
  replicated: ReplicatedKind<T>,
): Controller {
  const owners = context.informers.informer(replicated.kind, { indexes: controllerIndex })
  const pods = context.informers.informer(podKind, { indexes: controllerIndex })
  const expectations = new Expectations<Pod>(pods, context.clock)
  const loop = new ReplicaLoop(context, replicated, owners, pods, expectations)
  return {
    name,
    workers: WORKERS,
    watches: [
      expectations.watch,
      watch(owners, ownKey),
      watchDependents(pods, owners, replicated.kind.kind, (owner) => replicated.selectorOf(owner)),
    ],
    reconcile: (key) => loop.reconcile(key),
  }
}

class ReplicaLoop<T extends Replicated> {
  readonly #context: ControllerContext
  readonly #replicated: ReplicatedKind<T>
  readonly #owners: Informer<T>
  readonly #pods: Informer<Pod>
  readonly #expectations: Expectations<Pod>
  readonly #podControl: PodControl

  constructor(
    context: ControllerContext,
    replicated: ReplicatedKind<T>,
    owners: Informer<T>,
    pods: Informer<Pod>,
    expectations: Expectations<Pod>,
  ) {
    this.#context = context
    this.#replicated = replicated
    this.#owners = owners
    this.#pods = pods
    this.#expectations = expectations
    this.#podControl = createPodControl(context, expectations)
  }

  async reconcile(key: string): Promise<ReconcileResult | void> {
    const owner = this.#owners.get(key)
    if (!owner) return this.#expectations.forget(key)
    const wait = this.#expectations.waitTime(key)
    const pods = await this.#podsOf(owner, key)
    const failure = wait > 0 || owner.metadata.deletionTimestamp ? undefined : await this.#scale(owner, pods.active)
    await this.#writeStatus(owner, pods, failure)
    if (failure) throw failure.error
    const available = nextAvailableIn(pods.active, owner.spec?.minReadySeconds, this.#context.clock.now())
    const retryAfter = Math.min(available ?? Number.POSITIVE_INFINITY, wait || Number.POSITIVE_INFINITY)
    if (Number.isFinite(retryAfter)) return { retryAfter }
  }

  async #podsOf(owner: T, key: string): Promise<ReplicaPods> {
    const { namespace } = splitKey(key)
    const { client } = this.#context
    const all = await claim<Pod>({
      owner,
      ownerKind: this.#replicated.kind,
      selector: this.#replicated.selectorOf(owner),
      informer: this.#pods,
      dependents: client.resource(podKind).namespace(namespace),
      owners: client.resource(this.#replicated.kind).namespace(namespace),
    })
    return { active: all.filter(isActive), terminating: all.filter((pod) => isTerminating(pod) && !isFinished(pod)) }
  }

  /** Undefined when everything went well. */
  #scale(owner: T, active: readonly Pod[]): Promise<Failure | undefined> {
    const missing = (owner.spec?.replicas ?? 0) - active.length
    if (missing > 0) return this.#scaleUp(owner, Math.min(missing, BURST))
    if (missing < 0) return this.#scaleDown(owner, active, Math.min(-missing, BURST))
    return Promise.resolve(undefined)
  }

  async #scaleUp(owner: T, count: number): Promise<Failure | undefined> {
    const pod = podFromTemplate(owner.spec?.template ?? {}, owner, this.#replicated.kind)
    const { error } = await slowStart(count, () => this.#podControl.create(owner, pod))
    if (error === undefined || isNamespaceTerminating(error)) return undefined
    return { reason: 'FailedCreate', error }
  }

  async #scaleDown(owner: T, active: readonly Pod[], count: number): Promise<Failure | undefined> {
    const isComplete = count === active.length
    const order = isComplete ? active : deletionOrder(active, this.#related(owner), this.#context.clock.now())
    const deletions = order.slice(0, count).map((pod) => this.#podControl.delete(owner, pod))
    const failure = (await Promise.allSettled(deletions)).find((result) => result.status === 'rejected')
    return failure && { reason: 'FailedDelete', error: failure.reason }
  }

  /** The active pods of all owners with the same controller: a Deployment's ReplicaSets do the same work. */
  #related(owner: T): Pod[] {
    const controller = controllerOf(owner)
    const siblings = controller ? dependentsOf(this.#owners, { metadata: { uid: controller.uid } }) : [owner]
    return siblings.flatMap((sibling) => dependentsOf(this.#pods, sibling).filter(isActive))
  }

  async #writeStatus(owner: T, pods: ReplicaPods, failure: Failure | undefined): Promise<void> {
    const now = this.#context.clock.now()
    const status = replicaStatus(owner, pods, failure, now, this.#replicated.countsTerminating)
    if (deepEqual(status, owner.status)) return
    const resource = this.#context.client.resource(this.#replicated.kind).namespace(owner.metadata.namespace ?? '')
    await resource.updateStatus({ ...owner, status })
  }
}
