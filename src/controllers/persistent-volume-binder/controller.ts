import type { PersistentVolume, PersistentVolumeClaim } from '../../api/generated/core-v1.ts'
import { nodeKind } from '../../api/kinds/core/node/kind.ts'
import { persistentVolumeKind } from '../../api/kinds/core/persistent-volume/kind.ts'
import { persistentVolumeClaimKind } from '../../api/kinds/core/persistent-volume-claim/kind.ts'
import { storageClassKind } from '../../api/kinds/storage/storage-class.ts'
import { ApiError } from '../../api/meta/api-error.ts'
import { objectKey } from '../../client/informer.ts'
import { type Controller, type ControllerContext, type ReconcileResult, watch } from '../controller.ts'
import { classOf } from './annotations.ts'
import { BindingWriter } from './binding.ts'
import { ClaimSync } from './claim.ts'
import { LOCAL_PATH_PROVISIONER, type LocalPathOptions, localPathClass, localPathProvisioner } from './local-path.ts'
import type { VolumeProvisioner } from './provisioner.ts'
import { Provisioning } from './provisioning.ts'
import { VolumeSync } from './volume.ts'

export interface PersistentVolumeBinderOptions {
  /** Who makes volumes here; local directories by default. */
  readonly provisioners?: readonly VolumeProvisioner[]
}

const CLAIM = 'claim:'
const VOLUME = 'volume:'
/** The turn in which a cluster without storage classes gets its first one. */
const DEFAULT_CLASS = 'default-class'

const volumeIndexes = { class: (volume: PersistentVolume) => [classOf(volume)] }
/** Claims without a volume, by class; `?` are those that would take a default class. */
const claimIndexes = {
  class: ({ spec }: PersistentVolumeClaim) =>
    spec?.volumeName ? [] : spec?.storageClassName === undefined ? ['?', ''] : [spec.storageClassName],
}

/** Brings claims and volumes together, makes volumes where a class says how, and takes back those that are left. */
export function persistentVolumeBinderController(
  context: ControllerContext & PersistentVolumeBinderOptions & LocalPathOptions,
): Controller {
  const { client, informers } = context
  const volumes = informers.informer(persistentVolumeKind, { indexes: volumeIndexes })
  const claims = informers.informer(persistentVolumeClaimKind, { indexes: claimIndexes })
  const classes = informers.informer(storageClassKind)
  const provisioners = new Map((context.provisioners ?? [localPathProvisioner(context)]).map((one) => [one.name, one]))
  const writer = new BindingWriter(context)
  const provisioning = new Provisioning(context, classes, provisioners)
  const claimSync = new ClaimSync(context, { volumes, classes }, writer, provisioning)
  const volumeSync = new VolumeSync(context, claims, writer, provisioners)

  async function reconcile(key: string): Promise<ReconcileResult | void> {
    if (key.startsWith(CLAIM)) {
      const claim = claims.get(key.slice(CLAIM.length))
      if (claim) await claimSync.sync(claim)
    } else if (key.startsWith(VOLUME)) {
      const volume = volumes.get(key.slice(VOLUME.length))
      if (volume) return volumeSync.sync(volume)
    } else if (classes.list().length === 0 && provisioners.has(LOCAL_PATH_PROVISIONER)) {
      await client.resource(storageClassKind).create(localPathClass).catch(ignoreExisting)
    }
  }

  /** Claims that may want this volume: the one it names, and those that wait for one of its class. */
  function claimsFor(volume: PersistentVolume): string[] {
    const { namespace, name } = volume.spec?.claimRef ?? {}
    if (name) return [`${CLAIM}${namespace}/${name}`]
    return claims.byIndex('class', classOf(volume)).map((claim) => CLAIM + objectKey(claim))
  }

  return {
    name: 'persistentvolume-binder-controller',
    watches: [
      watch(claims, (old, current) => {
        const claim = (current ?? old)!
        const keys = current ? [CLAIM + objectKey(claim)] : []
        return claim.spec?.volumeName ? [...keys, VOLUME + claim.spec.volumeName] : keys
      }),
      watch(volumes, (old, current) => {
        const volume = (current ?? old)!
        return current ? [VOLUME + objectKey(volume), ...claimsFor(volume)] : claimsFor(volume)
      }),
      // Provisioners look at nodes.
      watch(informers.informer(nodeKind), () => []),
      watch(classes, (_old, current) => {
        const { name = '' } = current?.metadata ?? {}
        if (!current) return []
        return [...claims.byIndex('class', name), ...claims.byIndex('class', '?')].map(
          (claim) => CLAIM + objectKey(claim),
        )
      }),
    ],
    start: (queue) => queue.add(DEFAULT_CLASS),
    reconcile,
  }
}

/** Another control plane was faster. */
function ignoreExisting(error: unknown): undefined {
  if (error instanceof ApiError && error.code === 409) return
  throw error
}
