import type { StatefulSet } from '../../api/generated/apps-v1.ts'
import type { PersistentVolumeClaim, Pod } from '../../api/generated/core-v1.ts'
import { statefulSetKind } from '../../api/kinds/apps/stateful-set/kind.ts'
import { persistentVolumeClaimKind } from '../../api/kinds/core/persistent-volume-claim/kind.ts'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import { ApiError } from '../../api/meta/api-error.ts'
import type { OwnerReference } from '../../api/meta/object.ts'
import { deepEqual } from '../../base/deep-equal.ts'
import type { Informer } from '../../client/informer.ts'
import type { ControllerContext } from '../controller.ts'
import { controllerRef } from '../pod-control/owner.ts'
import { messageOf } from '../pod-control/pod-control.ts'
import { claimsOf, ordinalOf, podName } from './identity.ts'

/** Makes the volume claims of a set's pods, and lets them go with the pod or the set where the policy says so. */
export class ClaimControl {
  readonly #context: ControllerContext
  readonly #claims: Informer<PersistentVolumeClaim>

  constructor(context: ControllerContext) {
    this.#context = context
    this.#claims = context.informers.informer(persistentVolumeClaimKind)
  }

  get informer(): Informer<PersistentVolumeClaim> {
    return this.#claims
  }

  /** Whether a claim is about to go together with a former pod: its successor must not take hold of it. */
  hasStaleClaim(set: StatefulSet, ordinal: number): boolean {
    const name = podName(set, ordinal)
    return this.#existing(set, ordinal).some((claim) =>
      claim.metadata.ownerReferences?.some((reference) => reference.kind === 'Pod' && reference.name === name),
    )
  }

  async createMissing(set: StatefulSet, ordinal: number): Promise<void> {
    for (const wanted of claimsOf(set, ordinal)) {
      const { name, namespace } = wanted.metadata
      const found = this.#claims.get(`${namespace}/${name}`)
      if (found?.metadata.deletionTimestamp) throw new Error(`pvc ${name} is being deleted`)
      if (!found) await this.#create(set, podName(set, ordinal), wanted)
    }
  }

  /** Gives the claims of a pod the owners that the retention policy asks for. */
  async applyRetention(set: StatefulSet, pod: Pod, isCondemned: boolean): Promise<void> {
    if (!set.spec?.volumeClaimTemplates?.length) return
    const ordinal = ordinalOf(set, pod) ?? 0
    for (const claim of this.#existing(set, ordinal)) {
      const ownerReferences = ownersOf(set, pod, claim, isCondemned)
      if (deepEqual(ownerReferences, claim.metadata.ownerReferences ?? [])) continue
      await this.#resource(set).update({ ...claim, metadata: { ...claim.metadata, ownerReferences } })
    }
  }

  #existing(set: StatefulSet, ordinal: number): PersistentVolumeClaim[] {
    return claimsOf(set, ordinal).flatMap(
      ({ metadata }) => this.#claims.get(`${metadata.namespace}/${metadata.name}`) ?? [],
    )
  }

  async #create(set: StatefulSet, pod: string, claim: PersistentVolumeClaim): Promise<void> {
    const name = claim.metadata.name
    const where = `in StatefulSet ${set.metadata.name}`
    try {
      await this.#resource(set).create(claim)
      const message = `create Claim ${name} Pod ${pod} ${where} success`
      this.#context.events.event(set, 'Normal', 'SuccessfulCreate', message)
    } catch (error) {
      if (error instanceof ApiError && error.reason === 'AlreadyExists') return
      const message = `create Claim ${name} for Pod ${pod} ${where} failed error: ${messageOf(error)}`
      this.#context.events.event(set, 'Warning', 'FailedCreate', message)
      throw error
    }
  }

  #resource(set: StatefulSet) {
    return this.#context.client.resource(persistentVolumeClaimKind).namespace(set.metadata.namespace ?? '')
  }
}

/**
 * A claim owned by the set goes with the set, one owned by a pod goes with the pod (KEP-1847). Whoever else owns the
 * claim keeps it.
 */
function ownersOf(set: StatefulSet, pod: Pod, claim: PersistentVolumeClaim, isCondemned: boolean): OwnerReference[] {
  const { whenScaled, whenDeleted } = set.spec?.persistentVolumeClaimRetentionPolicy ?? {}
  const known = claim.metadata.ownerReferences ?? []
  const isOurs = ({ uid }: OwnerReference) => uid === set.metadata.uid || uid === pod.metadata.uid
  const others = known.filter((reference) => !isOurs(reference))
  if (others.some((reference) => reference.controller)) return [...known]
  if (whenScaled === 'Delete' && isCondemned) return [...others, controllerRef(pod, podKind)]
  if (whenDeleted === 'Delete') return [...others, controllerRef(set, statefulSetKind)]
  return others
}
