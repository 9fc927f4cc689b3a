import type { Kind } from '../../../api/kind.ts'
import type { KubernetesObject } from '../../../api/meta/object.ts'
import type { KindTable } from '../../kind-table.ts'
import type { AdmissionRequest } from '../plugin.ts'
import { inVersionOf } from './versions.ts'

export interface GroupVersionKind {
  readonly group: string
  readonly version: string
  readonly kind: string
}

/** The kind of the object that passes through a door: a Scale through `scale`, a Binding through `binding`. */
export function kindThrough({ group, version, kind, subresources }: Kind, subresource: string): GroupVersionKind {
  const door = subresources[subresource]
  if (door?.type === 'action') return { group: door.group, version: door.version, kind: door.kind }
  if (door?.type === 'scale') return { group: 'autoscaling', version: 'v1', kind: 'Scale' }
  return { group, version, kind }
}

export interface SeenObjects {
  readonly object: KubernetesObject | undefined
  readonly old: KubernetesObject | undefined
}

/** The objects of a request in the version of `kind`, as they pass through the door. Not to be changed. */
export async function seenAs(kinds: KindTable, request: AdmissionRequest, kind: Kind): Promise<SeenObjects> {
  const { draft, old, subresource } = request
  const door = request.kind.subresources[subresource]
  if (door?.type === 'action') return { object: draft, old }
  if (door?.type === 'scale')
    return { object: draft && scaleOf(request.kind, draft), old: old && scaleOf(request.kind, old) }
  return {
    object: draft && (await inVersionOf(kinds, draft, request.kind, kind)),
    old: old && (await inVersionOf(kinds, old, request.kind, kind)),
  }
}

/** autoscaling/v1 Scale. */
export interface Scale extends KubernetesObject {
  spec?: { replicas?: number }
}

function scaleOf({ subresources }: Kind, object: KubernetesObject): Scale {
  const scale = subresources.scale
  if (scale?.type !== 'scale') throw new Error('only what has a scale passes through it')
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata
  const selector = scale.selector(object)
  const status = { replicas: scale.statusReplicas(object), ...(selector && { selector }) }
  const metadata = { name, ...(namespace && { namespace }), uid, resourceVersion, creationTimestamp }
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: metadata as KubernetesObject['metadata'],
    spec: { replicas: scale.replicas(object) },
    status,
  } as Scale
}
