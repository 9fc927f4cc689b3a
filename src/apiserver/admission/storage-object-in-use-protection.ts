import { FINALIZER } from '../../api/meta/well-known.ts'
import type { AdmissionPlugin } from './plugin.ts'

const FINALIZERS: Readonly<Record<string, string | undefined>> = {
  '/persistentvolumeclaims': FINALIZER.claim,
  '/persistentvolumes': FINALIZER.volume,
  'storage.k8s.io/volumeattributesclasses': FINALIZER.attributesClass,
}

/** A volume that is in use outlives its deletion; a controller lifts the mark when nobody uses it any more. */
export const storageObjectInUseProtection: AdmissionPlugin = {
  name: 'StorageObjectInUseProtection',
  admit({ operation, kind, subresource, draft }) {
    if (operation !== 'CREATE' || subresource !== '' || !draft) return
    const finalizer = FINALIZERS[`${kind.group}/${kind.plural}`]
    const { metadata } = draft
    if (finalizer && !metadata.finalizers?.includes(finalizer))
      metadata.finalizers = [...(metadata.finalizers ?? []), finalizer]
  },
}
