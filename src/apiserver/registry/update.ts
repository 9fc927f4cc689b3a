import type { Kind, Subresource } from '../../api/kind.ts'
import {
  badRequest,
  conflict,
  invalidObject,
  MODIFIED_MESSAGE,
  objectNotFound,
  timeout,
} from '../../api/meta/api-error.ts'
import { invalid } from '../../api/meta/field-error.ts'
import { FieldPath } from '../../api/meta/field-path.ts'
import type { KubernetesObject } from '../../api/meta/object.ts'
import { isUnchanged } from '../../patch/manage-fields.ts'
import { ConflictError } from '../../store/store.ts'
import type { AdmissionRequest } from '../admission/plugin.ts'
import { type Allocation, allocatorOf } from '../objects/allocation.ts'
import { adoptName, adoptNamespace, dropEmptyCollections, keepServerFields } from '../objects/object-meta.ts'
import { addWarnings, type ResourceRequest } from '../request/resource-request.ts'
import { CachedObject } from '../watch-cache/cached-object.ts'
import { encodeObject, stamped, unstored } from '../watch-cache/encoding.ts'
import type { Answer } from './answer.ts'
import { betweenSteps } from './between-steps.ts'
import { commitDeletion, commitObject, NO_ALLOCATION } from './commit.ts'
import { createWith, toStorage } from './create.ts'
import { decodeObject, refuseGrownObject } from './decode.ts'
import { isReadyToGo } from './delete.ts'
import { encodeChangedItems } from './encode-changed-items.ts'
import { type Machinery, readForUpdate, type Target, targetOf } from './machinery.ts'
import { recordFields } from './managed-fields.ts'
import { Reservations } from './reservations.ts'
import { sharedItems } from './shared-items.ts'
import { validateChanged } from './validation.ts'
import { admissionOptions, parseWriteOptions, type WriteOptions } from './write-options.ts'

/** How often a change is computed again because somebody else was faster. */
const ATTEMPTS = 20
const RESOURCE_VERSION = FieldPath.root('metadata').child('resourceVersion')

/** PUT: the object as a whole, or the part that a subresource is a door to. */
export async function update(machinery: Machinery, request: ResourceRequest): Promise<Answer> {
  const options = parseWriteOptions(request, 'UpdateOptions')
  const target = targetOf(machinery, request)
  const isCreate =
    request.kind.createOnUpdate && !(await readForUpdate(machinery, target)) && request.subresource === ''
  if (isCreate) {
    await machinery.mayCreate(request)
    const object = await createWith(machinery, request, options, async () => {
      const draft = await decodeObject(request, options)
      adoptName(request, draft.metadata)
      delete draft.metadata.resourceVersion
      return draft
    })
    return { type: 'object', status: 201, kind: request.kind, object }
  }
  const object = await change(machinery, request, options, async (current) => {
    const sent = withoutShared(request, current)
    const draft = await decodeObject(sent, options, request.kind, sharedItems(sent, current))
    adoptName(request, draft.metadata)
    adoptNamespace(request, draft.metadata)
    checkPreconditions(request, draft, current)
    return draft
  })
  return { type: 'object', status: 200, kind: request.kind, object }
}

/**
 * A component of this process sends a status with the spec that it was handed, the very same object: whoever comes
 * through this door cannot change it, so it is neither copied nor checked.
 */
function withoutShared(request: ResourceRequest, current: CachedObject): ResourceRequest {
  const { body, subresource } = request
  if (subresource !== 'status' || body?.type !== 'object') return request
  const sent = body.object as Partial<KubernetesObject> & { spec?: unknown }
  const known: KubernetesObject & { spec?: unknown } = current.object
  if (sent.spec === undefined || sent.spec !== known.spec || !sent.metadata) return request
  const { spec: _, metadata, ...rest } = sent
  const { managedFields, ...others } = metadata
  const meta = managedFields === known.metadata.managedFields ? others : metadata
  return { ...request, body: { type: 'object', object: { ...rest, metadata: meta } } }
}

function checkPreconditions(request: ResourceRequest, draft: KubernetesObject, current: CachedObject): void {
  // Zero is none, as upstream reads it.
  if (draft.metadata.resourceVersion === '0') delete draft.metadata.resourceVersion
  const { resourceVersion, uid } = draft.metadata
  const ref = { group: request.kind.group, resource: request.kind.plural }
  if (resourceVersion && !/^\d+$/.test(resourceVersion)) {
    throw badRequest(`invalid resource version ${JSON.stringify(resourceVersion)}`)
  }
  if (!resourceVersion && !request.kind.unconditionalUpdate) {
    throw invalidObject(request.kind, request.name, [invalid(RESOURCE_VERSION, 0, 'must be specified for an update')])
  }
  if (uid && uid !== current.object.metadata.uid) {
    const message = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${current.object.metadata.uid}`
    throw conflict(ref, request.name, message)
  }
  if (resourceVersion && resourceVersion !== String(current.revision))
    throw conflict(ref, request.name, MODIFIED_MESSAGE)
}

/**
 * Computes a new state from the current one and stores it if nobody was faster; otherwise computes it again.
 * `compute` returns a private draft in the requested version; it may throw to give up.
 */
export function change(
  machinery: Machinery,
  request: ResourceRequest,
  options: WriteOptions,
  compute: Compute,
): Promise<CachedObject> {
  const target = targetOf(machinery, request)
  return machinery.locks.run(target.key, () => changeLocked(machinery, request, options, target, compute))
}

type Compute = (current: CachedObject) => KubernetesObject | Promise<KubernetesObject>

async function changeLocked(
  machinery: Machinery,
  request: ResourceRequest,
  options: WriteOptions,
  target: Target,
  compute: Compute,
): Promise<CachedObject> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const current = await readForUpdate(machinery, target)
    if (!current) throw objectNotFound(target.ref, request.name)
    const draft = await compute(current)
    const pinned = Boolean(draft.metadata.resourceVersion) && !request.patchType
    const reserved = new Reservations()
    try {
      return await storeChange(machinery, request, options, target, current, draft, reserved)
    } catch (error) {
      if (!(error instanceof ConflictError)) throw error
      // Only a lost race for the object itself is the client's business; a lost draw from a pool is ours.
      if (pinned && error.key === target.key) throw conflict(target.ref, request.name, MODIFIED_MESSAGE)
    } finally {
      reserved.release()
    }
  }
  throw timeout('the object is changed too often by others; please try again', 1)
}

async function storeChange(
  machinery: Machinery,
  request: ResourceRequest,
  options: WriteOptions,
  target: Target,
  current: CachedObject,
  draft: KubernetesObject,
  reserved: Reservations,
): Promise<CachedObject> {
  const { storage } = target
  const bytes = Math.max(request.bodyBytes ?? 0, current.bytes.length)
  await betweenSteps(bytes)
  const subresource = storage.subresources[request.subresource]
  const old = current.object
  prepare(request.kind, storage, subresource, draft, old)
  if (request.bodyBytes !== undefined) refuseGrownObject(draft, bytes)
  draft.metadata.resourceVersion = String(current.revision)

  const admission = admissionRequest(request, storage, draft, old, options, reserved)
  const admitting = machinery.admission.admit(admission)
  if (admitting) await admitting
  await betweenSteps(bytes)
  recordFields({ draft, old, kind: storage, request, options, now: machinery.clock.now() })
  const allocation = await allocate(machinery, storage, subresource, draft, old)
  await betweenSteps(bytes)
  validateChanged(storage, subresource, draft, old)
  await betweenSteps(bytes)
  const validating = machinery.admission.validate(admission)
  if (validating) await validating
  if (storage.warnings) addWarnings(request, storage.warnings(draft, old))

  await betweenSteps(bytes)
  if (isUnchanged(draft, old)) return current
  if (options.dryRun) return new CachedObject({ key: target.key, value: unstored(draft), revision: current.revision })
  if (isReadyToGo(storage, draft)) return remove(machinery, target, current, draft)
  const known =
    storage.sharedItems === undefined || target.form
      ? undefined
      : encodeChangedItems(storage.sharedItems, current, draft)
  return commitObject(machinery, target, current.revision, draft, reserved.with(allocation), known)
}

function prepare(
  kind: Kind,
  storage: Kind,
  subresource: Subresource | undefined,
  draft: KubernetesObject,
  old: KubernetesObject,
): void {
  kind.defaults?.(draft)
  toStorage(kind, storage, draft)
  keepServerFields(draft, old)
  dropEmptyCollections(draft.metadata)
  if (subresource?.type === 'part') subresource.prepareUpdate(draft, old)
  // An action (a binding) is the server's own change: it may touch what users may not.
  else if (subresource?.type !== 'action') storage.prepareUpdate?.(draft, old)
}

async function allocate(
  machinery: Machinery,
  storage: Kind,
  subresource: Subresource | undefined,
  draft: KubernetesObject,
  old: KubernetesObject,
): Promise<Allocation> {
  if (subresource?.type === 'part') return NO_ALLOCATION
  return (await allocatorOf(machinery.allocators, storage)?.update(draft, old)) ?? NO_ALLOCATION
}

/** The last finalizer is gone from an object that was waiting for it: the update becomes the deletion. */
async function remove(
  machinery: Machinery,
  target: Target,
  current: CachedObject,
  draft: KubernetesObject,
): Promise<CachedObject> {
  const released = (await allocatorOf(machinery.allocators, target.storage)?.release(current.object)) ?? NO_ALLOCATION
  const revision = await commitDeletion(machinery, target, current.revision, released)
  return new CachedObject({ key: target.key, value: stamped(encodeObject(draft), revision), revision })
}

function admissionRequest(
  request: ResourceRequest,
  kind: Kind,
  draft: KubernetesObject,
  old: KubernetesObject,
  options: WriteOptions,
  reserved: Reservations,
): AdmissionRequest {
  return {
    operation: 'UPDATE',
    kind,
    requestKind: request.kind,
    subresource: request.subresource,
    namespace: request.namespace,
    name: request.name,
    draft,
    old,
    user: request.user,
    dryRun: options.dryRun,
    // Asked for only by policies and webhooks.
    get options() {
      return admissionOptions(request.patchType ? 'PatchOptions' : 'UpdateOptions', request, options)
    },
    warn: (message) => request.warnings.push(message),
    annotate: request.annotate,
    also: reserved.also,
  }
}
