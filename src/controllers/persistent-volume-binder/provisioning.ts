import type { PersistentVolume, PersistentVolumeClaim } from '../../api/generated/core-v1.ts'
import type { StorageClass } from '../../api/generated/storage-v1.ts'
import { persistentVolumeKind } from '../../api/kinds/core/persistent-volume/kind.ts'
import { persistentVolumeClaimKind } from '../../api/kinds/core/persistent-volume-claim/kind.ts'
import { ApiError } from '../../api/meta/api-error.ts'
import { PROVISIONER } from '../../api/meta/well-known.ts'
import type { Informer } from '../../client/informer.ts'
import type { ControllerContext } from '../controller.ts'
import {
  BETA_STORAGE_PROVISIONER,
  BOUND_BY_CONTROLLER,
  classOf,
  PROVISIONED_BY,
  SELECTED_NODE,
  STORAGE_PROVISIONER,
  withAnnotations,
} from './annotations.ts'
import type { VolumeProvisioner } from './provisioner.ts'

/** Has volumes made for claims: by a provisioner of our own, or by somebody outside who watches claims. */
export class Provisioning {
  readonly #context: ControllerContext
  readonly #classes: Informer<StorageClass>
  readonly #provisioners: ReadonlyMap<string, VolumeProvisioner>

  constructor(
    context: ControllerContext,
    classes: Informer<StorageClass>,
    provisioners: ReadonlyMap<string, VolumeProvisioner>,
  ) {
    this.#context = context
    this.#classes = classes
    this.#provisioners = provisioners
  }

  async provision(claim: PersistentVolumeClaim): Promise<void> {
    const { events } = this.#context
    const name = classOf(claim)
    const storageClass = this.#classes.get(name)
    if (!storageClass) {
      events.event(claim, 'Warning', 'ProvisioningFailed', `storageclass.storage.k8s.io "${name}" not found`)
      return
    }
    if (storageClass.provisioner === PROVISIONER.none) return
    const provisioner = this.#provisioners.get(storageClass.provisioner)
    if (provisioner) return this.#make(claim, storageClass, provisioner)
    await this.#ask(claim, storageClass.provisioner)
    const message = `Waiting for a volume to be created either by the external provisioner '${storageClass.provisioner}' or manually by the system administrator. If volume creation is delayed, please verify that the provisioner is running and correctly registered.`
    events.event(claim, 'Normal', 'ExternalProvisioning', message)
  }

  /** Whoever provisions finds its claims by this annotation. */
  async #ask(claim: PersistentVolumeClaim, provisioner: string): Promise<void> {
    if (claim.metadata.annotations?.[STORAGE_PROVISIONER] === provisioner) return
    const next = withAnnotations(claim, { [STORAGE_PROVISIONER]: provisioner, [BETA_STORAGE_PROVISIONER]: provisioner })
    await this.#context.client.resource(persistentVolumeClaimKind).update(next)
  }

  /** The name follows from the claim, so that a run after a crash finds the volume of the one before. */
  async #make(claim: PersistentVolumeClaim, storageClass: StorageClass, provisioner: VolumeProvisioner): Promise<void> {
    const { client, events } = this.#context
    const name = `pvc-${claim.metadata.uid}`
    const node = claim.metadata.annotations?.[SELECTED_NODE]
    try {
      const source = await provisioner.provision({ name, claim, storageClass, node })
      await client.resource(persistentVolumeKind).create(volumeOf(name, claim, storageClass, source))
    } catch (error) {
      if (error instanceof ApiError && error.code === 409) return
      const message = `failed to provision volume with StorageClass "${storageClass.metadata.name}": ${(error as Error).message}`
      events.event(claim, 'Warning', 'ProvisioningFailed', message)
      throw error
    }
    events.event(claim, 'Normal', 'ProvisioningSucceeded', `Successfully provisioned volume ${name}`)
  }
}

function volumeOf(
  name: string,
  { metadata, spec }: PersistentVolumeClaim,
  storageClass: StorageClass,
  source: Partial<NonNullable<PersistentVolume['spec']>>,
): PersistentVolume {
  const { namespace = '', name: claimName = '', uid = '' } = metadata
  return {
    metadata: {
      name,
      annotations: { [PROVISIONED_BY]: storageClass.provisioner, [BOUND_BY_CONTROLLER]: 'yes' },
    },
    spec: {
      capacity: { storage: spec?.resources?.requests?.storage ?? '0' },
      accessModes: [...(spec?.accessModes ?? [])],
      persistentVolumeReclaimPolicy: storageClass.reclaimPolicy ?? 'Delete',
      storageClassName: storageClass.metadata.name ?? '',
      volumeMode: spec?.volumeMode ?? 'Filesystem',
      ...(storageClass.mountOptions && { mountOptions: [...storageClass.mountOptions] }),
      ...(spec?.volumeAttributesClassName && { volumeAttributesClassName: spec.volumeAttributesClassName }),
      ...source,
      claimRef: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace, name: claimName, uid },
    },
  }
}
