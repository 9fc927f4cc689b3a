import type { Deployment, DeploymentStatus, ReplicaSet } from '../../api/generated/apps-v1.ts'
import { deploymentKind } from '../../api/kinds/apps/deployment/kind.ts'
import { replicaSetKind } from '../../api/kinds/apps/replica-set/kind.ts'
import { ApiError } from '../../api/meta/api-error.ts'
import { deepEqual } from '../../base/deep-equal.ts'
import type { ControllerContext } from '../controller.ts'
import { isControlledBy } from '../pod-control/owner.ts'
import { isNamespaceTerminating, messageOf } from '../pod-control/pod-control.ts'
import { currentAnnotations, sizeAnnotations } from './annotations.ts'
import { type Conditions, progressing, withDeploymentCondition } from './conditions.ts'
import { hasTemplate, newReplicaSet } from './new-replica-set.ts'
import { hasProgressDeadline } from './progress.ts'
import { nextRevision, REVISION, revisionOf } from './revision.ts'
import { type Rollout, replicasOf } from './rollout.ts'
import { listed } from './status.ts'

/** Writes ReplicaSets and the status of their Deployment. Every write carries the version it was decided on. */
export class ReplicaSetControl {
  readonly #context: ControllerContext

  constructor(context: ControllerContext) {
    this.#context = context
  }

  /** Sets the size of a ReplicaSet. True if it was another one. */
  async scale(deployment: Deployment, replicaSet: ReplicaSet, replicas: number): Promise<boolean> {
    const annotations = { ...replicaSet.metadata.annotations, ...sizeAnnotations(deployment) }
    const from = replicasOf(replicaSet)
    if (from === replicas && deepEqual(annotations, replicaSet.metadata.annotations)) return false
    const { metadata, spec } = replicaSet
    await this.#update({ ...replicaSet, metadata: { ...metadata, annotations }, spec: { ...spec!, replicas } })
    if (from === replicas) return false
    const direction = from < replicas ? 'up' : 'down'
    const message = `Scaled ${direction} replica set ${metadata.name} from ${from} to ${replicas}`
    this.#context.events.event(deployment, 'Normal', 'ScalingReplicaSet', message)
    return true
  }

  /**
   * Brings revision, annotations and minReadySeconds of the newest ReplicaSet up to date, and the Deployment's
   * revision with it. With `create` it is made if it is missing.
   */
  async sync(rollout: Rollout, create: boolean): Promise<Rollout> {
    const revision = nextRevision(rollout.oldReplicaSets)
    if (rollout.newReplicaSet) return this.#refresh(rollout, rollout.newReplicaSet, revision)
    return create ? this.#create(rollout, revision) : rollout
  }

  /** Writes the status if it is another one. True if it was. */
  async writeStatus(deployment: Deployment, status: DeploymentStatus): Promise<boolean> {
    if (deepEqual(status, deployment.status)) return false
    await this.#deployments(deployment).updateStatus({ ...deployment, status })
    return true
  }

  async delete(replicaSet: ReplicaSet): Promise<void> {
    const { name = '', uid = '' } = replicaSet.metadata
    try {
      await this.#replicaSets(replicaSet).delete(name, { preconditions: { uid } })
    } catch (error) {
      if (!(error instanceof ApiError && error.code === 404)) throw error
    }
  }

  async #refresh(rollout: Rollout, current: ReplicaSet, revision: bigint): Promise<Rollout> {
    const { deployment } = rollout
    const annotations = currentAnnotations(deployment, current, revision)
    const minReadySeconds = deployment.spec?.minReadySeconds ?? 0
    const isFresh =
      deepEqual(annotations, current.metadata.annotations) && (current.spec?.minReadySeconds ?? 0) === minReadySeconds
    const fresh = isFresh
      ? current
      : await this.#update({
          ...current,
          metadata: { ...current.metadata, annotations },
          spec: { ...current.spec!, minReadySeconds },
        })
    const found = `Found new replica set ${JSON.stringify(fresh.metadata.name)}`
    const updated = await this.#writeRevision(deployment, revisionOf(fresh), 'FoundNewReplicaSet', found)
    return { ...rollout, deployment: updated, newReplicaSet: fresh }
  }

  async #create(rollout: Rollout, revision: bigint): Promise<Rollout> {
    const { deployment, oldReplicaSets } = rollout
    const wanted = newReplicaSet(deployment, oldReplicaSets, revision)
    const created = await this.#createOrFind(deployment, wanted)
    const name = created.metadata.name
    const size = replicasOf(created)
    if (size > 0) {
      const message = `Scaled up replica set ${name} from 0 to ${size}`
      this.#context.events.event(deployment, 'Normal', 'ScalingReplicaSet', message)
    }
    const message = `Created new replica set ${JSON.stringify(name)}`
    const updated = await this.#writeRevision(deployment, revision, 'NewReplicaSetCreated', message)
    return { ...rollout, deployment: updated, newReplicaSet: created }
  }

  /** One of this name may be ours, made by a write whose answer was lost; or another's: then the name changes. */
  async #createOrFind(deployment: Deployment, wanted: ReplicaSet): Promise<ReplicaSet> {
    try {
      return await this.#replicaSets(wanted).create(wanted)
    } catch (error) {
      if (!(error instanceof ApiError && error.reason === 'AlreadyExists')) {
        await this.#reportFailure(deployment, wanted, error)
        throw error
      }
      const found = await this.#replicaSets(wanted).get(wanted.metadata.name!)
      if (isControlledBy(found, deployment) && hasTemplate(found, deployment)) return found
      const { status } = deployment
      await this.writeStatus(deployment, { ...status, collisionCount: (status?.collisionCount ?? 0) + 1 })
      throw error
    }
  }

  async #reportFailure(deployment: Deployment, wanted: ReplicaSet, error: unknown): Promise<void> {
    if (isNamespaceTerminating(error)) return
    const name = JSON.stringify(wanted.metadata.name)
    const message = `Failed to create new replica set ${name}: ${messageOf(error)}`
    this.#context.events.event(deployment, 'Warning', 'ReplicaSetCreateError', message)
    if (!hasProgressDeadline(deployment)) return
    const condition = { type: 'Progressing', status: 'False', reason: 'ReplicaSetCreateError', message }
    const conditions = withDeploymentCondition(deployment.status?.conditions, condition, this.#context.clock.now())
    await this.writeStatus(deployment, { ...deployment.status, ...listed(conditions) })
  }

  /** The Deployment shows the revision of its newest ReplicaSet; the first sight of that one starts the deadline. */
  async #writeRevision(
    deployment: Deployment,
    revision: bigint,
    reason: 'FoundNewReplicaSet' | 'NewReplicaSetCreated',
    message: string,
  ): Promise<Deployment> {
    const { metadata, status } = deployment
    let conditions: Conditions | undefined = status?.conditions
    const isStart = reason === 'NewReplicaSetCreated' || !progressing(status)
    if (hasProgressDeadline(deployment) && isStart) {
      const condition = { type: 'Progressing', status: 'True', reason, message }
      conditions = withDeploymentCondition(conditions, condition, this.#context.clock.now())
    }
    if (revisionOf(deployment) === revision && conditions === status?.conditions) return deployment
    return this.#deployments(deployment).updateStatus({
      ...deployment,
      metadata: { ...metadata, annotations: { ...metadata.annotations, [REVISION]: String(revision) } },
      status: { ...status, ...(conditions && listed(conditions)) },
    })
  }

  #update(replicaSet: ReplicaSet): Promise<ReplicaSet> {
    return this.#replicaSets(replicaSet).update(replicaSet)
  }

  #replicaSets(object: ReplicaSet) {
    return this.#context.client.resource(replicaSetKind).namespace(object.metadata.namespace ?? '')
  }

  #deployments(object: Deployment) {
    return this.#context.client.resource(deploymentKind).namespace(object.metadata.namespace ?? '')
  }
}
