import type { PersistentVolumeClaim } from '../../api/generated/core-v1.ts'
import type { StorageClass } from '../../api/generated/storage-v1.ts'
import { ANNOTATION } from '../../api/meta/well-known.ts'
import { defaultClassFinder } from './default-class.ts'
import type { Lister } from './lister.ts'
import type { AdmissionPlugin } from './plugin.ts'

const IS_DEFAULT = [ANNOTATION.isDefaultStorageClass, ANNOTATION.betaIsDefaultStorageClass]

/** A claim that names no class gets the default one. The empty name is a name: it asks for no class at all. */
export function defaultStorageClass(classes: Lister<StorageClass>): AdmissionPlugin {
  const find = defaultClassFinder(classes, ({ metadata }) =>
    IS_DEFAULT.some((name) => metadata.annotations?.[name] === 'true'),
  )
  const setClass = async (claim: PersistentVolumeClaim) => {
    const name = (await find())?.metadata.name
    if (name) claim.spec = { ...claim.spec, storageClassName: name }
  }
  return {
    name: 'DefaultStorageClass',
    resources: ['persistentvolumeclaims'],
    admit({ operation, kind, subresource, draft }) {
      if (kind.plural !== 'persistentvolumeclaims' || kind.group !== '') return
      if (operation !== 'CREATE' || subresource !== '' || !draft) return
      const claim = draft as PersistentVolumeClaim
      if (
        claim.spec?.storageClassName !== undefined ||
        claim.metadata.annotations?.[ANNOTATION.betaStorageClass] !== undefined
      )
        return
      return setClass(claim)
    },
  }
}
