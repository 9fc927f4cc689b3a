import { replicaSetKind } from '../../api/kinds/apps/replica-set/kind.ts'
import { statefulSetKind } from '../../api/kinds/apps/stateful-set/kind.ts'
import { replicationControllerKind } from '../../api/kinds/core/replication-controller.ts'
import type { InformerFactory } from '../../client/informer-factory.ts'
import type { SelectingWorkload } from '../plugins/pod-topology-spread/default-selectors.ts'

/** The controllers whose pods belong together, by kind and `namespace/name`. */
export function workloadLookup(
  informers: InformerFactory,
): (kind: string, key: string) => SelectingWorkload | undefined {
  const replicaSets = informers.informer(replicaSetKind)
  const statefulSets = informers.informer(statefulSetKind)
  const replicationControllers = informers.informer(replicationControllerKind)
  return (kind, key) => {
    if (kind === 'ReplicaSet') return replicaSets.get(key)
    if (kind === 'StatefulSet') return statefulSets.get(key)
    if (kind === 'ReplicationController') return replicationControllers.get(key) as SelectingWorkload | undefined
    return undefined
  }
}
