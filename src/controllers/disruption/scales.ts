import type { Kind } from '../../api/kind.ts'
import { deploymentKind } from '../../api/kinds/apps/deployment/kind.ts'
import { replicaSetKind } from '../../api/kinds/apps/replica-set/kind.ts'
import { statefulSetKind } from '../../api/kinds/apps/stateful-set/kind.ts'
import { replicationControllerKind } from '../../api/kinds/core/replication-controller.ts'
import { ApiError } from '../../api/meta/api-error.ts'
import { type KubernetesObject, type OwnerReference, parseApiVersion } from '../../api/meta/object.ts'
import type { Informer } from '../../client/informer.ts'
import { type ControllerContext, type Watch, watch } from '../controller.ts'
import { resourceName, servedTypes } from '../served-types.ts'
import type { PodController } from './tally.ts'

interface Scalable extends KubernetesObject {
  readonly spec?: { replicas?: number; template?: { metadata?: { labels?: Record<string, string> } } }
}

interface Scale {
  readonly uid: string
  readonly replicas: number
}

/** How many pods some controllers want to have together. */
export interface ExpectedScales {
  readonly watches: readonly Watch[]
  of(controllers: Iterable<PodController>): Promise<number>
}

export function expectedScales(
  { client, informers }: ControllerContext,
  budgetsOf: (namespace: string | undefined, labels: Record<string, string> | undefined) => Iterable<string>,
): ExpectedScales {
  const types = servedTypes(informers)
  const kinds = [
    replicaSetKind,
    deploymentKind,
    replicationControllerKind,
    statefulSetKind,
  ] as readonly Kind<Scalable>[]
  const known = new Map(kinds.map((kind) => [`${kind.group}/${kind.kind}`, informers.informer(kind)]))

  function find({ apiVersion, kind, name, uid }: OwnerReference, namespace: string): Scale | undefined {
    const object = known.get(`${parseApiVersion(apiVersion).group}/${kind}`)?.get(`${namespace}/${name}`)
    if (object?.metadata.uid !== uid) return undefined
    // During a rollout the ReplicaSets of a Deployment come and go; what is wanted is said by the Deployment.
    const owner = kind === 'ReplicaSet' ? object.metadata.ownerReferences?.find((one) => one.controller) : undefined
    return (owner && find(owner, namespace)) ?? { uid, replicas: object.spec?.replicas ?? 1 }
  }

  /** Anything else that can be scaled is asked through its scale subresource. */
  async function ask({ reference, namespace, podName }: PodController): Promise<Scale> {
    const { apiVersion, kind, name, uid } = reference
    const type = types.byKind(apiVersion, kind)
    if (!type) throw new Error(`found no controllers for pod ${JSON.stringify(podName)}`)
    try {
      const resource = client.resource(type).namespace(namespace)
      const scale = (await resource.subresource('get', name, 'scale')) as { spec?: { replicas?: number } }
      return { uid, replicas: scale.spec?.replicas ?? 0 }
    } catch (error) {
      if (!(error instanceof ApiError && error.code === 404)) throw error
      if (error.details?.name) throw new Error(`found no controllers for pod ${JSON.stringify(podName)}`)
      throw new Error(`${resourceName(type)} does not implement the scale subresource`)
    }
  }

  return {
    watches: [...known.values()].map((informer) => watchScale(informer, budgetsOf)),
    async of(controllers) {
      const replicas = new Map<string, number>()
      for (const controller of [...controllers]) {
        const scale = find(controller.reference, controller.namespace) ?? (await ask(controller))
        replicas.set(scale.uid, scale.replicas)
      }
      return [...replicas.values()].reduce((sum, count) => sum + count, 0)
    },
  }
}

function watchScale(informer: Informer<Scalable>, budgetsOf: Parameters<typeof expectedScales>[1]): Watch {
  return watch(informer, (old, current) => {
    if (!old || !current || old.spec?.replicas === current.spec?.replicas) return []
    return budgetsOf(current.metadata.namespace, current.spec?.template?.metadata?.labels)
  })
}
