import type { Pod } from '../api/generated/core-v1.ts'

/** The claims a pod uses, as `namespace/name`; those of generic ephemeral volumes are named after the pod. */
export function claimsOf({ metadata, spec }: Pod): readonly string[] {
  let keys: string[] | undefined
  for (const volume of spec?.volumes ?? []) {
    const claim = volume.persistentVolumeClaim?.claimName ?? (volume.ephemeral && `${metadata.name}-${volume.name}`)
    if (!claim) continue
    keys ??= []
    keys.push(`${metadata.namespace}/${claim}`)
  }
  return keys ?? NONE
}

const NONE: readonly string[] = []

/** The index `claim` on pods: those that use a claim. One object, so that all who share the informer mean the same. */
export const podsByClaim = { claim: claimsOf }
