import type { Kind } from '../../api/kind.ts'
import { badRequest } from '../../api/meta/api-error.ts'
import type { KubernetesObject, ObjectMeta } from '../../api/meta/object.ts'
import { formatTime } from '../../api/meta/time.ts'
import type { Clock } from '../../base/clock.ts'
import { type Random, randomSuffix } from '../../base/random.ts'

/** A generated name is cut so that base and suffix fit a DNS label. */
const MAX_GENERATED_BASE = 58

/** What the URL says of an object. */
interface Named {
  readonly kind: Pick<Kind, 'namespaced'>
  readonly namespace: string
  readonly name: string
}

/** The namespace in the body must be the one in the path, and may be left out. */
export function adoptNamespace(request: Named, meta: ObjectMeta): void {
  if (!request.kind.namespaced) {
    if (meta.namespace === '') delete meta.namespace
    return
  }
  if (!meta.namespace) meta.namespace = request.namespace
  else if (meta.namespace !== request.namespace) {
    throw badRequest(`the namespace of the provided object does not match the namespace sent on the request`)
  }
}

/** The name in the body must be the one in the path, and may be left out. */
export function adoptName(request: Named, meta: ObjectMeta): void {
  if (!meta.name) meta.name = request.name
  else if (meta.name !== request.name) {
    throw badRequest(`the name of the object (${meta.name}) does not match the name on the URL (${request.name})`)
  }
}

/** What the server decides about a new object: identity and time. */
export function stampNewObject(draft: KubernetesObject, clock: Clock, random: Random): void {
  const meta = draft.metadata
  if (!meta.resourceVersion || meta.resourceVersion === '0') delete meta.resourceVersion
  delete meta.selfLink
  delete meta.deletionTimestamp
  delete meta.deletionGracePeriodSeconds
  delete meta.generation
  meta.uid = random.uuid()
  meta.creationTimestamp = formatTime(clock.now())
  if (!meta.name && meta.generateName) meta.name = generatedName(meta.generateName, random)
}

/** Asked after admission, as upstream does: who may not create it at all is told that instead. */
export function refuseVersion(meta: ObjectMeta): void {
  if (meta.resourceVersion) throw badRequest('resourceVersion should not be set on objects to be created')
}

export function generatedName(base: string, random: Random): string {
  return base.slice(0, MAX_GENERATED_BASE) + randomSuffix(random)
}

const SERVER_FIELDS = [
  'uid',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'generation',
] as const

/** Fields a user may leave out of an update because the server owns them. */
export function keepServerFields(draft: KubernetesObject, old: KubernetesObject): void {
  const meta = draft.metadata as unknown as Record<string, unknown>
  for (const field of SERVER_FIELDS) {
    const value = old.metadata[field]
    if (field === 'generation' || meta[field] === undefined || meta[field] === null || meta[field] === '') {
      if (value === undefined) delete meta[field]
      else meta[field] = value
    }
  }
  delete meta.selfLink
}

/** Empty collections of metadata are as good as none, and are not stored. */
export function dropEmptyCollections(meta: ObjectMeta): void {
  if (meta.labels && isEmpty(meta.labels)) delete meta.labels
  if (meta.annotations && isEmpty(meta.annotations)) delete meta.annotations
  if (meta.finalizers?.length === 0) delete meta.finalizers
  if (meta.ownerReferences?.length === 0) delete meta.ownerReferences
}

function isEmpty(map: object): boolean {
  for (const _ in map) return false
  return true
}

/** Puts the object under the kind it is stored as. */
export function setTypeMeta(draft: KubernetesObject, kind: Kind): void {
  draft.kind = kind.kind
  draft.apiVersion = kind.group === '' ? kind.version : `${kind.group}/${kind.version}`
}
