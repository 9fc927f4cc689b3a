import type { PersistentVolumeClaimSpec, TypedLocalObjectReference } from '../../../generated/core-v1.ts'

/**
 * What a claim is filled from stands in `dataSource` and in its successor `dataSourceRef` (KEP-1495). Whoever sets one
 * gets both; the older field never took anything but claims and snapshots, and still drops the rest silently.
 */
export function fillBothDataSources(spec: PersistentVolumeClaimSpec): void {
  const { dataSource, dataSourceRef } = spec
  if (dataSource && !dataSourceRef && !isClaimOrSnapshot(dataSource)) delete spec.dataSource
  else if (dataSource && !dataSourceRef) spec.dataSourceRef = { ...dataSource }
  else if (!dataSource && dataSourceRef && !dataSourceRef.namespace) {
    const { namespace: _, ...local } = dataSourceRef
    spec.dataSource = local
  }
}

function isClaimOrSnapshot({ apiGroup = '', kind }: TypedLocalObjectReference): boolean {
  return apiGroup === ''
    ? kind === 'PersistentVolumeClaim'
    : apiGroup === 'snapshot.storage.k8s.io' && kind === 'VolumeSnapshot'
}
