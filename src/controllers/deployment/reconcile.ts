import type { Deployment, DeploymentStatus, ReplicaSet } from '../../api/generated/apps-v1.ts'
import type { ControllerContext, ReconcileResult } from '../controller.ts'
import { progressing, withDeploymentCondition } from './conditions.ts'
import { isRollingUpdate } from './limits.ts'
import { rolloutOf } from './new-replica-set.ts'
import { hasProgressDeadline, untilDeadline } from './progress.ts'
import { ReplicaSetControl } from './replica-set-control.ts'
import { byRevision } from './revision.ts'
import { rollingUpdateStep, type Sizes } from './rolling-update.ts'
import { isComplete, isScaledUp, type Rollout, replicasOf } from './rollout.ts'
import { isScalingEvent, scaledSizes } from './scaling.ts'
import { countedStatus, listed, rolloutStatus } from './status.ts'

/** Brings one Deployment a step further. Each step changes ReplicaSets, whose events call for the next one. */
export class DeploymentReconciler {
  readonly #context: ControllerContext
  readonly #control: ReplicaSetControl
  /** Whether any pod of this ReplicaSet still runs or is on its way down. */
  readonly #hasRunningPods: (replicaSet: ReplicaSet) => boolean

  constructor(context: ControllerContext, hasRunningPods: (replicaSet: ReplicaSet) => boolean) {
    this.#context = context
    this.#control = new ReplicaSetControl(context)
    this.#hasRunningPods = hasRunningPods
  }

  async reconcile(found: Deployment, replicaSets: readonly ReplicaSet[]): Promise<ReconcileResult | void> {
    if (found.metadata.deletionTimestamp) {
      const rollout = rolloutOf(found, replicaSets)
      await this.#control.writeStatus(found, countedStatus(rollout, this.#now))
      return
    }
    const deployment = this.#withPauseCondition(found)
    const rollout = rolloutOf(deployment, replicaSets)
    if (deployment.spec?.paused || isScalingEvent(rollout)) return this.#scaleOnly(rollout, found)
    return isRollingUpdate(deployment) ? this.#rollingUpdate(rollout, found) : this.#recreate(rollout, found)
  }

  get #now(): number {
    return this.#context.clock.now()
  }

  /** Paused, or scaled in the middle of something: sizes follow the wish, templates wait. */
  async #scaleOnly(rollout: Rollout, found: Deployment): Promise<void> {
    const synced = await this.#control.sync(rollout, false)
    await this.#resize(synced.deployment, scaledSizes(synced))
    if (synced.deployment.spec?.paused) await this.#cleanUp(synced)
    await this.#writeStatus(synced, found, countedStatus(synced, this.#now))
  }

  async #rollingUpdate(rollout: Rollout, found: Deployment): Promise<ReconcileResult | void> {
    const synced = await this.#control.sync(rollout, true)
    const step = rollingUpdateStep(synced)
    await this.#resize(synced.deployment, step)
    return this.#finish(synced, found, step.size > 0)
  }

  /** First every old pod goes, then the new ones come. */
  async #recreate(rollout: Rollout, found: Deployment): Promise<ReconcileResult | void> {
    const synced = await this.#control.sync(rollout, false)
    const down = new Map(synced.oldReplicaSets.filter(isScaledUp).map((replicaSet) => [replicaSet, 0]))
    await this.#resize(synced.deployment, down)
    if (down.size > 0 || synced.oldReplicaSets.some((one) => !isIdle(one) || this.#hasRunningPods(one)))
      return this.#finish(synced, found, true)
    const created = await this.#control.sync(synced, true)
    const { newReplicaSet } = created
    const wanted = replicasOf(created.deployment)
    const isUp = !newReplicaSet || replicasOf(newReplicaSet) === wanted
    if (!isUp) await this.#resize(created.deployment, new Map([[newReplicaSet, wanted]]))
    return this.#finish(created, found, !isUp)
  }

  async #finish(rollout: Rollout, found: Deployment, hasMoved: boolean): Promise<ReconcileResult | void> {
    const { deployment } = rollout
    if (!hasMoved && isComplete(deployment, deployment.status ?? {})) await this.#cleanUp(rollout)
    const isWritten = await this.#writeStatus(rollout, found, rolloutStatus(rollout, this.#now))
    const retryAfter = isWritten ? undefined : untilDeadline(deployment, this.#now)
    if (retryAfter !== undefined) return { retryAfter }
  }

  /** `found` is what the server has, unless the revision was written since. */
  #writeStatus({ deployment }: Rollout, found: Deployment, status: DeploymentStatus): Promise<boolean> {
    const isRewritten = deployment.metadata.resourceVersion !== found.metadata.resourceVersion
    return this.#control.writeStatus(isRewritten ? deployment : found, status)
  }

  async #resize(deployment: Deployment, sizes: Sizes): Promise<void> {
    for (const [replicaSet, size] of sizes) await this.#control.scale(deployment, replicaSet, size)
  }

  /** While paused no progress is expected: the deadline does not run. A lack of it that was told stays told. */
  #withPauseCondition(deployment: Deployment): Deployment {
    const reason = progressing(deployment.status)?.reason
    if (!hasProgressDeadline(deployment) || reason === 'ProgressDeadlineExceeded') return deployment
    const isPaused = !!deployment.spec?.paused
    if (isPaused === (reason === 'DeploymentPaused')) return deployment
    const condition = isPaused
      ? { reason: 'DeploymentPaused', message: 'Deployment is paused' }
      : { reason: 'DeploymentResumed', message: 'Deployment is resumed' }
    const conditions = withDeploymentCondition(
      deployment.status?.conditions,
      { type: 'Progressing', status: 'Unknown', ...condition },
      this.#now,
    )
    return { ...deployment, status: { ...deployment.status, ...listed(conditions) } }
  }

  /** Old ReplicaSets without pods are kept to roll back to, but not all of them. */
  async #cleanUp({ deployment, oldReplicaSets }: Rollout): Promise<void> {
    const limit = deployment.spec?.revisionHistoryLimit
    if (limit === undefined) return
    const kept = oldReplicaSets.filter((replicaSet) => !replicaSet.metadata.deletionTimestamp)
    if (kept.length <= limit) return
    const oldest = kept.sort(byRevision).slice(0, kept.length - limit)
    for (const replicaSet of oldest) if (isIdle(replicaSet)) await this.#control.delete(replicaSet)
  }
}

/** Nothing runs in it, and its own controller knows that nothing should. */
function isIdle({ metadata, spec, status }: ReplicaSet): boolean {
  return (
    (status?.replicas ?? 0) === 0 &&
    (spec?.replicas ?? 0) === 0 &&
    (metadata.generation ?? 0) <= (status?.observedGeneration ?? 0)
  )
}
