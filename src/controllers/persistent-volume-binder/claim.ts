import type { PersistentVolume, PersistentVolumeClaim } from '../../api/generated/core-v1.ts'
import type { StorageClass } from '../../api/generated/storage-v1.ts'
import { persistentVolumeClaimKind } from '../../api/kinds/core/persistent-volume-claim/kind.ts'
import type { Informer } from '../../client/informer.ts'
import type { ControllerContext } from '../controller.ts'
import {
  BIND_COMPLETED,
  BOUND_BY_CONTROLLER,
  classOf,
  hasAnnotation,
  isDefaultClass,
  SELECTED_NODE,
} from './annotations.ts'
import type { BindingWriter } from './binding.ts'
import { findVolume, isKeptFor, mismatch } from './match.ts'
import type { Provisioning } from './provisioning.ts'

export interface ClaimInformers {
  readonly volumes: Informer<PersistentVolume>
  readonly classes: Informer<StorageClass>
}

/** Brings one claim to a volume, if there is one for it or one can be made. */
export class ClaimSync {
  readonly #context: ControllerContext
  readonly #informers: ClaimInformers
  readonly #writer: BindingWriter
  readonly #provisioning: Provisioning

  constructor(
    context: ControllerContext,
    informers: ClaimInformers,
    writer: BindingWriter,
    provisioning: Provisioning,
  ) {
    this.#context = context
    this.#informers = informers
    this.#writer = writer
    this.#provisioning = provisioning
  }

  async sync(claim: PersistentVolumeClaim): Promise<void> {
    if (hasAnnotation(claim, BIND_COMPLETED)) return this.#syncBound(claim)
    if (claim.spec?.volumeName) return this.#syncNamed(claim, claim.spec.volumeName)
    const volume = this.#findVolume(claim)
    if (volume) return this.#writer.bind(volume, claim)
    if (claim.metadata.deletionTimestamp !== undefined) return
    await this.#makeVolume(claim)
    await this.#writer.setClaimPhase(claim, 'Pending')
  }

  /** A claim that waits for its first pod is bound by the scheduler's choice only: to a volume that names it. */
  #findVolume(claim: PersistentVolumeClaim): PersistentVolume | undefined {
    const found = findVolume(this.#informers.volumes.byIndex('class', classOf(claim)), claim)
    return found && (isKeptFor(found, claim) || !this.#waitsForPod(claim)) ? found : undefined
  }

  #waitsForPod(claim: PersistentVolumeClaim): boolean {
    return this.#informers.classes.get(classOf(claim))?.volumeBindingMode === 'WaitForFirstConsumer'
  }

  async #makeVolume(claim: PersistentVolumeClaim): Promise<void> {
    if (await this.#takeDefaultClass(claim)) return
    const { events } = this.#context
    if (this.#waitsForPod(claim) && !hasAnnotation(claim, SELECTED_NODE)) {
      const message = 'waiting for first consumer to be created before binding'
      events.event(claim, 'Normal', 'WaitForFirstConsumer', message)
    } else if (classOf(claim) !== '') {
      await this.#provisioning.provision(claim)
    } else {
      const message = 'no persistent volumes available for this claim and no storage class is set'
      events.event(claim, 'Normal', 'FailedBinding', message)
    }
  }

  /** A claim that was made before there was a default class gets it now (KEP-3333). */
  async #takeDefaultClass(claim: PersistentVolumeClaim): Promise<boolean> {
    if (claim.spec?.storageClassName !== undefined || classOf(claim) !== '') return false
    const defaults = this.#informers.classes.list().filter(isDefaultClass)
    const newest = defaults.toSorted((a, b) => newer(a, b))[0]
    if (!newest) return false
    const spec = { ...claim.spec, storageClassName: newest.metadata.name ?? '' }
    await this.#context.client.resource(persistentVolumeClaimKind).update({ ...claim, spec })
    return true
  }

  async #syncNamed(claim: PersistentVolumeClaim, name: string): Promise<void> {
    const volume = this.#informers.volumes.get(name)
    const problem = volume && !volume.spec?.claimRef ? mismatch(volume, claim) : undefined
    if (volume && problem === undefined && (!volume.spec?.claimRef || isKeptFor(volume, claim)))
      return this.#writer.bind(volume, claim)
    if (problem !== undefined) {
      const message = `Cannot bind to requested volume "${name}": ${problem}`
      this.#context.events.event(claim, 'Warning', 'VolumeMismatch', message)
    } else if (volume) {
      const { namespace, name: other } = volume.spec?.claimRef ?? {}
      const message = `volume "${name}" already bound to a different claim.`
      this.#context.events.event(claim, 'Warning', 'FailedBinding', message)
      if (hasAnnotation(claim, BOUND_BY_CONTROLLER))
        throw new Error(
          `claim ${claim.metadata.name} is bound to volume ${name}, which is bound to ${namespace}/${other}`,
        )
    }
    await this.#writer.setClaimPhase(claim, 'Pending')
  }

  async #syncBound(claim: PersistentVolumeClaim): Promise<void> {
    const { events } = this.#context
    const volume = this.#informers.volumes.get(claim.spec?.volumeName ?? '')
    if (volume && !volume.spec?.claimRef) return this.#writer.bind(volume, claim)
    if (volume?.spec?.claimRef?.uid === claim.metadata.uid) return this.#writer.bind(volume!, claim)
    if (claim.status?.phase === 'Lost') return
    if (volume) {
      const message = 'Two claims are bound to the same volume, this one is bound incorrectly'
      events.event(claim, 'Warning', 'ClaimMisbound', message)
    } else {
      const message = 'Bound claim has lost its PersistentVolume. Data on the volume is lost!'
      events.event(claim, 'Warning', 'ClaimLost', message)
    }
    await this.#writer.setClaimPhase(claim, 'Lost')
  }
}

/** The newest first; of those of one moment, the first by name. */
function newer(a: StorageClass, b: StorageClass): number {
  const byTime = (b.metadata.creationTimestamp ?? '').localeCompare(a.metadata.creationTimestamp ?? '')
  return byTime || (a.metadata.name ?? '').localeCompare(b.metadata.name ?? '')
}
