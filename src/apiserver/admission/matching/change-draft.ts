import type { Kind } from '../../../api/kind.ts'
import { badRequest, internalError } from '../../../api/meta/api-error.ts'
import type { Json, KubernetesObject } from '../../../api/meta/object.ts'
import { checkShape } from '../../../api/schema/check-shape.ts'
import { deepEqual } from '../../../base/deep-equal.ts'
import { cloneJson } from '../../../patch/json-value.ts'
import type { KindTable } from '../../kind-table.ts'
import { dropEmptyCollections, setTypeMeta } from '../../objects/object-meta.ts'
import type { AdmissionRequest } from '../plugin.ts'
import type { Scale } from './seen-request.ts'
import { inVersionOf } from './versions.ts'

type Fields = Record<string, unknown>
const SHAPE = { prune: true, defaults: true }
/** What is the server's alone. */
const SERVER_FIELDS = [
  'uid',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'generation',
  'resourceVersion',
  'managedFields',
] as const

/**
 * Makes the draft of a request what somebody outside wants it to be, given in the version they saw: of the right shape,
 * with defaults, and with what belongs to the server left alone. Returns whether anything is different now.
 */
export async function changeDraft(
  kinds: KindTable,
  request: AdmissionRequest,
  kind: Kind,
  wanted: KubernetesObject,
): Promise<boolean> {
  const draft = request.draft!
  const door = request.kind.subresources[request.subresource]
  if (door?.type === 'action') return replace(draft, wanted)
  if (door?.type === 'scale') {
    const before = door.replicas(draft)
    const replicas = (wanted as Scale).spec?.replicas ?? 0
    if (replicas !== before) door.setReplicas(draft, replicas)
    return replicas !== before
  }
  const next = await complete(kinds, request, kind, wanted)
  return replace(draft, next)
}

async function complete(
  kinds: KindTable,
  request: AdmissionRequest,
  kind: Kind,
  wanted: KubernetesObject,
): Promise<KubernetesObject> {
  const draft = request.draft!
  const storage = request.kind
  const shaped = cloneJson(wanted as unknown as Json) as unknown as KubernetesObject
  const { typeError } = checkShape(shaped, kind.schema, SHAPE)
  if (typeError) throw internalError(typeError)
  shaped.metadata ??= {}
  checkIdentity(draft, shaped)
  kind.defaults?.(shaped)
  const next = await inVersionOf(kinds, shaped, kind, storage)
  if (next !== shaped) storage.defaults?.(next)
  setTypeMeta(next, storage)
  const meta = next.metadata as unknown as Fields
  for (const field of SERVER_FIELDS) {
    if (draft.metadata[field] === undefined) delete meta[field]
    else meta[field] = draft.metadata[field]
  }
  dropEmptyCollections(next.metadata)
  prepare(request, next)
  return next
}

/** Whoever is asked about an object does not make another of it. */
function checkIdentity(draft: KubernetesObject, wanted: KubernetesObject): void {
  const { name = '', namespace = '' } = draft.metadata
  if ((wanted.metadata.name ?? '') !== name)
    throw badRequest(`the name of the object (${wanted.metadata.name}) does not match the name on the URL (${name})`)
  if ((wanted.metadata.namespace ?? '') !== namespace)
    throw badRequest(
      `the namespace of the object (${wanted.metadata.namespace}) does not match the namespace on the URL (${namespace})`,
    )
}

/** What a user may not set through this door, nobody else may either. */
function prepare({ operation, kind, subresource, old }: AdmissionRequest, next: KubernetesObject): void {
  const door = kind.subresources[subresource]
  if (operation === 'CREATE') kind.prepareCreate?.(next)
  else if (operation === 'UPDATE' && old) {
    if (door?.type === 'part') door.prepareUpdate(next, old)
    else kind.prepareUpdate?.(next, old)
  }
}

/** The draft stays the same object: others hold it. */
function replace(draft: KubernetesObject, next: KubernetesObject): boolean {
  if (deepEqual(draft, next)) return false
  const fields = draft as unknown as Fields
  for (const name of Object.keys(fields)) if (!Object.hasOwn(next, name)) delete fields[name]
  Object.assign(fields, next)
  return true
}
