import type { AdmissionPlugin } from './plugin.ts'

const FINALIZERS: Readonly<Record<string, string | undefined>> = {
  '/persistentvolumeclaims': 'kubernetes.io/pvc-protection',
  '/persistentvolumes': 'kubernetes.io/pv-protection',
  'storage.k8s.io/volumeattributesclasses': 'kubernetes.io/vac-protection',
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
