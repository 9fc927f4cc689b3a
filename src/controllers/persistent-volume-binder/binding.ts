import type { PersistentVolume, PersistentVolumeClaim } from '../../api/generated/core-v1.ts'
import { persistentVolumeKind } from '../../api/kinds/core/persistent-volume/kind.ts'
import { persistentVolumeClaimKind } from '../../api/kinds/core/persistent-volume-claim/kind.ts'
import { formatTime } from '../../api/meta/time.ts'
import { deepEqual } from '../../base/deep-equal.ts'
import type { ControllerContext } from '../controller.ts'
import { BIND_COMPLETED, BOUND_BY_CONTROLLER, hasAnnotation, withAnnotations } from './annotations.ts'
import { isKeptFor } from './match.ts'

/** The writes of the binder. Each leaves a state from which the next run goes on. */
export class BindingWriter {
  readonly #context: ControllerContext

  constructor(context: ControllerContext) {
    this.#context = context
  }

  /** Four steps, volume first: a volume that names a claim is nobody else's, whatever happens before the last step. */
  async bind(volume: PersistentVolume, claim: PersistentVolumeClaim): Promise<void> {
    const bound = await this.#pointVolume(volume, claim)
    await this.setVolumePhase(bound, 'Bound')
    const pointed = await this.#pointClaim(claim, bound)
    await this.setClaimBound(pointed, bound)
  }

  async #pointVolume(volume: PersistentVolume, claim: PersistentVolumeClaim): Promise<PersistentVolume> {
    const { name, namespace, uid, resourceVersion } = claim.metadata
    if (volume.spec?.claimRef?.uid === uid && uid !== undefined) return volume
    const claimRef = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace, name, uid, resourceVersion }
    const isKept = isKeptFor(volume, claim)
    const next = isKept ? volume : withAnnotations(volume, { [BOUND_BY_CONTROLLER]: 'yes' })
    const spec = { ...volume.spec, claimRef: claimRef as NonNullable<typeof volume.spec>['claimRef'] }
    return this.#volumes.update({ ...next, spec } as PersistentVolume)
  }

  async #pointClaim(claim: PersistentVolumeClaim, volume: PersistentVolume): Promise<PersistentVolumeClaim> {
    const volumeName = volume.metadata.name ?? ''
    if (claim.spec?.volumeName === volumeName && hasAnnotation(claim, BIND_COMPLETED)) return claim
    const own = claim.spec?.volumeName === volumeName ? {} : { [BOUND_BY_CONTROLLER]: 'yes' }
    const next = withAnnotations(claim, { [BIND_COMPLETED]: 'yes', ...own })
    return this.#claims.update({ ...next, spec: { ...claim.spec, volumeName } })
  }

  async setClaimBound(claim: PersistentVolumeClaim, volume: PersistentVolume): Promise<void> {
    const { accessModes = [], capacity = {}, volumeAttributesClassName } = volume.spec ?? {}
    const known = claim.status ?? {}
    const status = {
      ...known,
      phase: 'Bound',
      accessModes: [...accessModes],
      // A claim that is being expanded learns its new size from whoever expands it.
      capacity: known.phase === 'Bound' && known.capacity ? known.capacity : { ...capacity },
      ...(volumeAttributesClassName && { currentVolumeAttributesClassName: volumeAttributesClassName }),
    }
    if (!deepEqual(status, known)) await this.#claims.updateStatus({ ...claim, status })
  }

  async setClaimPhase(claim: PersistentVolumeClaim, phase: 'Pending' | 'Lost'): Promise<void> {
    const { phase: known, ...rest } = claim.status ?? {}
    if (known === phase) return
    const { accessModes: _modes, capacity: _capacity, ...other } = rest
    await this.#claims.updateStatus({ ...claim, status: { ...other, phase } })
  }

  async setVolumePhase(volume: PersistentVolume, phase: string, message?: string): Promise<PersistentVolume> {
    if (volume.status?.phase === phase && volume.status.message === message) return volume
    const lastPhaseTransitionTime = formatTime(this.#context.clock.now())
    const status = { phase, ...(message !== undefined && { message }), lastPhaseTransitionTime }
    return this.#volumes.updateStatus({ ...volume, status })
  }

  /** Takes a binding back: a volume that the user kept for a claim by name stays kept. */
  async unbind(volume: PersistentVolume): Promise<void> {
    const { claimRef, ...rest } = volume.spec ?? {}
    const isOurs = hasAnnotation(volume, BOUND_BY_CONTROLLER)
    const { uid: _uid, resourceVersion: _version, ...kept } = claimRef ?? {}
    const spec = isOurs ? rest : { ...rest, claimRef: kept }
    const next = withAnnotations(volume, { [BOUND_BY_CONTROLLER]: undefined })
    await this.setVolumePhase(await this.#volumes.update({ ...next, spec }), 'Available')
  }

  get #volumes() {
    return this.#context.client.resource(persistentVolumeKind)
  }

  get #claims() {
    return this.#context.client.resource(persistentVolumeClaimKind)
  }
}
