import type { PersistentVolume, PersistentVolumeClaim } from '../../api/generated/core-v1.ts'
import { persistentVolumeKind } from '../../api/kinds/core/persistent-volume/kind.ts'
import { persistentVolumeClaimKind } from '../../api/kinds/core/persistent-volume-claim/kind.ts'
import { ApiError } from '../../api/meta/api-error.ts'
import type { Informer } from '../../client/informer.ts'
import type { ControllerContext, ReconcileResult } from '../controller.ts'
import { hasAnnotation, PROVISIONED_BY } from './annotations.ts'
import type { BindingWriter } from './binding.ts'
import type { VolumeProvisioner } from './provisioner.ts'

/** Milliseconds after which to see whether what is behind a volume is gone. */
const DELETION_PERIOD = 1000

/** Brings one volume to the phase that its claim, or the lack of one, gives it. */
export class VolumeSync {
  readonly #context: ControllerContext
  readonly #claims: Informer<PersistentVolumeClaim>
  readonly #writer: BindingWriter
  readonly #provisioners: ReadonlyMap<string, VolumeProvisioner>

  constructor(
    context: ControllerContext,
    claims: Informer<PersistentVolumeClaim>,
    writer: BindingWriter,
    provisioners: ReadonlyMap<string, VolumeProvisioner>,
  ) {
    this.#context = context
    this.#claims = claims
    this.#writer = writer
    this.#provisioners = provisioners
  }

  async sync(volume: PersistentVolume): Promise<ReconcileResult | void> {
    const { claimRef } = volume.spec ?? {}
    // Kept for a claim by name alone: the claim decides.
    if (!claimRef?.uid) return void (await this.#writer.setVolumePhase(volume, 'Available'))
    const claim = await this.#claimOf(volume)
    if (!claim) return this.#release(volume)
    if (claim.spec?.volumeName === volume.metadata.name)
      return void (await this.#writer.setVolumePhase(volume, 'Bound'))
    // The claim's own turn completes the binding.
    if (!claim.spec?.volumeName) return
    if (this.#isProvisioned(volume) && volume.spec?.persistentVolumeReclaimPolicy === 'Delete')
      return this.#release(volume)
    await this.#writer.unbind(volume)
  }

  /** Undefined if the claim is gone; another claim of the same name is not it. What seems gone is looked up for certain. */
  async #claimOf({ spec }: PersistentVolume): Promise<PersistentVolumeClaim | undefined> {
    const { namespace = '', name = '', uid } = spec?.claimRef ?? {}
    const known = this.#claims.get(`${namespace}/${name}`)
    if (known?.metadata.uid === uid) return known
    const claims = this.#context.client.resource(persistentVolumeClaimKind).namespace(namespace)
    const current = await claims.get(name).catch(ignoreNotFound)
    return current?.metadata.uid === uid ? current : undefined
  }

  #isProvisioned(volume: PersistentVolume): boolean {
    return hasAnnotation(volume, PROVISIONED_BY)
  }

  async #release(volume: PersistentVolume): Promise<ReconcileResult | void> {
    const released = volume.status?.phase === 'Failed' ? volume : await this.#writer.setVolumePhase(volume, 'Released')
    switch (volume.spec?.persistentVolumeReclaimPolicy) {
      case 'Delete':
        return this.#delete(released)
      case 'Recycle':
        return this.#recycle(released)
    }
  }

  async #delete(volume: PersistentVolume): Promise<ReconcileResult | void> {
    const { client, events } = this.#context
    if (volume.metadata.deletionTimestamp !== undefined) return
    const provisioner = this.#provisioners.get(volume.metadata.annotations?.[PROVISIONED_BY] ?? '')
    if (!provisioner) {
      // Somebody else's volume is deleted by its own provisioner; one that nobody provisioned cannot be.
      if (this.#isProvisioned(volume) || volume.spec?.csi) return
      const message = 'error getting deleter volume plugin for volume: no deletable volume plugin matched'
      if (volume.status?.phase === 'Failed') return
      events.event(volume, 'Warning', 'VolumeFailedDelete', message)
      await this.#writer.setVolumePhase(volume, 'Failed', message)
      return
    }
    if (!(await provisioner.delete(volume))) return { retryAfter: DELETION_PERIOD }
    const { name = '', uid = '' } = volume.metadata
    await client.resource(persistentVolumeKind).delete(name, { preconditions: { uid } })
  }

  async #recycle(volume: PersistentVolume): Promise<void> {
    if (!volume.spec?.hostPath && !volume.spec?.nfs) {
      if (volume.status?.phase === 'Failed') return
      const message = 'No recycler plugin found for the volume!'
      this.#context.events.event(volume, 'Warning', 'VolumeFailedRecycle', message)
      await this.#writer.setVolumePhase(volume, 'Failed', message)
      return
    }
    this.#context.events.event(volume, 'Normal', 'VolumeRecycled', 'Volume recycled')
    await this.#writer.unbind(volume)
  }
}

function ignoreNotFound(error: unknown): undefined {
  if (error instanceof ApiError && error.code === 404) return
  throw error
}
