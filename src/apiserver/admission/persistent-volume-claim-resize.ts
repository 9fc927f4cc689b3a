import type { PersistentVolumeClaim } from '../../api/generated/core-v1.ts'
import type { StorageClass } from '../../api/generated/storage-v1.ts'
import { quantityIn } from '../../api/kinds/core/resource-list.ts'
import { forbiddenAccess } from '../../api/meta/api-error.ts'
import { compareQuantities, quantityOf } from '../../api/meta/quantity.ts'
import { ANNOTATION } from '../../api/meta/well-known.ts'
import type { Lister } from './lister.ts'
import type { AdmissionPlugin } from './plugin.ts'

const CLAIMS = { group: '', resource: 'persistentvolumeclaims' }
const NOTHING = quantityOf(0)

/** A claim grows only when it is bound and its class says that its volumes can. */
export function persistentVolumeClaimResize(classes: Lister<StorageClass>): AdmissionPlugin {
  const mustBeResizable = async (name: string, claim: PersistentVolumeClaim, old: PersistentVolumeClaim) => {
    if (old.status?.phase !== 'Bound')
      throw forbiddenAccess(CLAIMS, name, 'Only bound persistent volume claims can be expanded')
    const [className, before] = [classOf(claim), classOf(old)]
    const found = className === before && className !== '' ? await classes.get(className) : undefined
    if (found?.allowVolumeExpansion) return
    const rule =
      'only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize'
    throw forbiddenAccess(CLAIMS, name, rule)
  }
  return {
    name: 'PersistentVolumeClaimResize',
    resources: ['persistentvolumeclaims'],
    validate({ operation, kind, subresource, name, draft, old }) {
      if (operation !== 'UPDATE' || kind.plural !== CLAIMS.resource || kind.group !== '' || subresource !== '') return
      if (compareQuantities(sizeOf(draft!), sizeOf(old!)) > 0) return mustBeResizable(name, draft!, old!)
    },
  }
}

const sizeOf = ({ spec }: PersistentVolumeClaim) => quantityIn(spec?.resources?.requests, 'storage') ?? NOTHING
const classOf = ({ metadata, spec }: PersistentVolumeClaim) =>
  metadata.annotations?.[ANNOTATION.betaStorageClass] ?? spec?.storageClassName ?? ''
