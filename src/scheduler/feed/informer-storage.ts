import type { PersistentVolumeClaim, Pod } from '../../api/generated/core-v1.ts'
import { persistentVolumeKind } from '../../api/kinds/core/persistent-volume/kind.ts'
import { persistentVolumeClaimKind } from '../../api/kinds/core/persistent-volume-claim/kind.ts'
import { csiDriverKind } from '../../api/kinds/storage/csi-driver.ts'
import { csiNodeKind } from '../../api/kinds/storage/csi-node.ts'
import { csiStorageCapacityKind } from '../../api/kinds/storage/csi-storage-capacity.ts'
import { storageClassKind } from '../../api/kinds/storage/storage-class.ts'
import type { Clock } from '../../base/clock.ts'
import type { Client } from '../../client/client.ts'
import type { InformerFactory } from '../../client/informer-factory.ts'
import type { Storage } from '../plugins/volume-binding/storage.ts'
import { VolumeWaits } from '../plugins/volume-binding/volume-waits.ts'

const byStorageClass = (object: { spec?: { storageClassName?: string } }) => [object.spec?.storageClassName ?? '']
const byCapacityClass = (object: { storageClassName: string }) => [object.storageClassName]

export interface InformedStorage extends Storage {
  /** Calls when anything about storage has changed. */
  onChange(listener: () => void): () => void
}

export function informerStorage(
  client: Client,
  clock: Clock,
  informers: InformerFactory,
  usersOf: (namespace: string, claim: string) => Iterable<Pod>,
): InformedStorage {
  const claims = informers.informer(persistentVolumeClaimKind)
  const volumes = informers.informer(persistentVolumeKind, { indexes: { storageClass: byStorageClass } })
  const classes = informers.informer(storageClassKind)
  const drivers = informers.informer(csiDriverKind)
  const nodes = informers.informer(csiNodeKind)
  const capacities = informers.informer(csiStorageCapacityKind, { indexes: { storageClass: byCapacityClass } })
  return {
    client,
    clock,
    waits: new VolumeWaits(),
    claim: (namespace, name) => claims.get(`${namespace}/${name}`),
    volume: (name) => volumes.get(name),
    volumesOfClass: (name) => volumes.byIndex('storageClass', name),
    storageClass: (name) => classes.get(name),
    driver: (name) => drivers.get(name),
    driversOn: (node) => nodes.get(node),
    capacities: (name) => capacities.byIndex('storageClass', name),
    usersOf,
    onClaimChange: (listener) =>
      claims.onChange((_old, current) => {
        if (current) listener(current as PersistentVolumeClaim)
      }),
    onChange(listener) {
      const all = [claims, volumes, classes, drivers, nodes, capacities].map((informer) => informer.onChange(listener))
      return () => {
        for (const stop of all) stop()
      }
    },
  }
}
