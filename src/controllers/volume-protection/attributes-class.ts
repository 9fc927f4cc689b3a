import type { PersistentVolume, PersistentVolumeClaim } from '../../api/generated/core-v1.ts'
import { persistentVolumeKind } from '../../api/kinds/core/persistent-volume/kind.ts'
import { persistentVolumeClaimKind } from '../../api/kinds/core/persistent-volume-claim/kind.ts'
import { volumeAttributesClassKind } from '../../api/kinds/storage/volume-attributes-class.ts'
import { ApiError } from '../../api/meta/api-error.ts'
import { FINALIZER } from '../../api/meta/well-known.ts'
import { type Controller, type ControllerContext, ownKey, watch } from '../controller.ts'
import { withFinalizer } from './finalizer.ts'

const volumesByAttributesClass = { attributesClass: classesOfVolume }
const claimsByAttributesClass = { attributesClass: classesOfClaim }

/** Keeps VolumeAttributesClasses that are deleted until no volume and no claim names them. */
export function volumeAttributesClassProtectionController({ client, informers }: ControllerContext): Controller {
  const classes = informers.informer(volumeAttributesClassKind)
  const volumes = informers.informer(persistentVolumeKind, { indexes: volumesByAttributesClass })
  const claims = informers.informer(persistentVolumeClaimKind, { indexes: claimsByAttributesClass })
  const isDeleted = (name: string) => classes.get(name)?.metadata.deletionTimestamp !== undefined

  async function reconcile(name: string): Promise<void> {
    const found = classes.get(name)
    if (!found || (isDeleted(name) && (await isUsed(name)))) return
    const next = withFinalizer(found, FINALIZER.attributesClass, !isDeleted(name))
    if (next) await client.resource(volumeAttributesClassKind).update(next).catch(ignoreGone)
  }

  /** Before the last word the API itself is asked: a claim may have come that the informer has not seen. */
  async function isUsed(name: string): Promise<boolean> {
    if (volumes.byIndex('attributesClass', name).length > 0 || claims.byIndex('attributesClass', name).length > 0)
      return true
    const all = await client.resource(persistentVolumeClaimKind).list()
    return all.items.some((claim) => classesOfClaim(claim).includes(name))
  }

  return {
    name: 'volumeattributesclass-protection-controller',
    watches: [
      watch(classes, (old, current) =>
        current && (isDeleted(current.metadata.name ?? '') || withFinalizer(current, FINALIZER.attributesClass, true))
          ? ownKey(old, current)
          : [],
      ),
      // Only classes that wait for it care about who stops using them.
      watch(volumes, (old) => (old ? classesOfVolume(old).filter(isDeleted) : [])),
      watch(claims, (old) => (old ? classesOfClaim(old).filter(isDeleted) : [])),
    ],
    reconcile,
  }
}

function classesOfVolume({ spec }: PersistentVolume): readonly string[] {
  return spec?.volumeAttributesClassName ? [spec.volumeAttributesClassName] : NONE
}

/** The one it asks for, the one it has, and the one it is on the way to. */
function classesOfClaim({ spec, status }: PersistentVolumeClaim): readonly string[] {
  const { currentVolumeAttributesClassName: current, modifyVolumeStatus } = status ?? {}
  const names = [spec?.volumeAttributesClassName, current, modifyVolumeStatus?.targetVolumeAttributesClassName]
  const named = names.filter((name): name is string => Boolean(name))
  return named.length === 0 ? NONE : [...new Set(named)]
}

const NONE: readonly string[] = []

function ignoreGone(error: unknown): undefined {
  if (error instanceof ApiError && error.code === 404) return
  throw error
}
