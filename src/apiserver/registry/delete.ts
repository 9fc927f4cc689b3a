import type { Kind } from '../../api/kind.ts'
import { objectNotFound, type Status, timeout } from '../../api/meta/api-error.ts'
import type { KubernetesObject } from '../../api/meta/object.ts'
import { formatTime } from '../../api/meta/time.ts'
import { ConflictError } from '../../store/store.ts'
import { allocatorOf } from '../objects/allocation.ts'
import type { ResourceRequest } from '../request/resource-request.ts'
import type { CachedObject } from '../watch-cache/cached-object.ts'
import type { Answer } from './answer.ts'
import { commitDeletion, commitObject, NO_ALLOCATION } from './commit.ts'
import { checkDeletePreconditions, type DeleteOptions, parseDeleteOptions } from './delete-options.ts'
import { type Machinery, readForUpdate, type Target, targetOf } from './machinery.ts'

const ATTEMPTS = 20
const ORPHAN = 'orphan'
const FOREGROUND = 'foregroundDeletion'

/** DELETE of one object: at once, after its grace period, or when its finalizers are gone. */
export async function deleteOne(machinery: Machinery, request: ResourceRequest): Promise<Answer> {
  return deleteNamed(machinery, request, parseDeleteOptions(request))
}

export function deleteNamed(machinery: Machinery, request: ResourceRequest, options: DeleteOptions): Promise<Answer> {
  const target = targetOf(machinery, request)
  return machinery.locks.run(target.key, () => deleteLocked(machinery, request, options, target))
}

async function deleteLocked(
  machinery: Machinery,
  request: ResourceRequest,
  options: DeleteOptions,
  target: Target,
): Promise<Answer> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const current = await readForUpdate(machinery, target)
    if (!current) throw objectNotFound(target.ref, request.name)
    checkDeletePreconditions(target.ref, request.name, options, current.object)
    await admitDeletion(machinery, request, target, current, options)
    try {
      return await attemptDeletion(machinery, request, target, current, options)
    } catch (error) {
      if (!(error instanceof ConflictError)) throw error
    }
  }
  throw timeout('the object is changed too often by others; please try again', 1)
}

async function attemptDeletion(
  machinery: Machinery,
  request: ResourceRequest,
  target: Target,
  current: CachedObject,
  options: DeleteOptions,
): Promise<Answer> {
  const draft = target.storage.beginDeletion ? current.draft() : withOwnMetadata(current.object)
  markDeleted(target.storage, draft, options, machinery.clock.now())
  if (!isReadyToGo(target.storage, draft)) {
    const object = await storeMark(machinery, target, current, draft, options)
    return { type: 'object', status: 200, kind: request.kind, object }
  }
  if (!options.dryRun) {
    const released = (await allocatorOf(machinery.allocators, target.storage)?.release(current.object)) ?? NO_ALLOCATION
    await commitDeletion(machinery, target, current.revision, released)
  }
  // A kind that ends gracefully answers with the object as it last was, others with a Status.
  if (target.storage.gracePeriod) return { type: 'object', status: 200, kind: request.kind, object: current }
  return { type: 'plain', status: 200, body: deleted(request, current.object) }
}

function storeMark(
  machinery: Machinery,
  target: Target,
  current: CachedObject,
  draft: KubernetesObject,
  options: DeleteOptions,
): CachedObject | Promise<CachedObject> {
  const before = current.object.metadata
  const after = draft.metadata
  const isNews =
    before.deletionTimestamp !== after.deletionTimestamp ||
    before.deletionGracePeriodSeconds !== after.deletionGracePeriodSeconds ||
    before.finalizers?.join() !== after.finalizers?.join()
  if (!isNews || options.dryRun) return current
  return commitObject(machinery, target, current.revision, draft, NO_ALLOCATION)
}

/** The mark changes nothing but fields of the metadata: the rest is shared. */
const withOwnMetadata = (object: KubernetesObject): KubernetesObject => ({
  ...object,
  metadata: { ...object.metadata },
})

/** Sets the mark of deletion and the finalizers that the propagation policy asks for. */
function markDeleted(kind: Kind, draft: KubernetesObject, options: DeleteOptions, now: number): void {
  const meta = draft.metadata
  const finalizers = propagationFinalizers(kind, meta.finalizers ?? [], options)
  if (finalizers.length > 0) meta.finalizers = finalizers
  else delete meta.finalizers
  const grace = kind.gracePeriod?.(draft, options.gracePeriodSeconds) ?? 0
  if (meta.deletionTimestamp === undefined) {
    if (meta.generation !== undefined) meta.generation++
    setDeletion(meta, now, grace)
    kind.beginDeletion?.(draft)
  } else if (grace < (meta.deletionGracePeriodSeconds ?? 0)) {
    // A second delete may only shorten the wait.
    setDeletion(meta, now, grace)
  }
}

function setDeletion(meta: KubernetesObject['metadata'], now: number, grace: number): void {
  meta.deletionTimestamp = formatTime(now + grace * 1000)
  meta.deletionGracePeriodSeconds = grace
}

function propagationFinalizers(kind: Kind, present: readonly string[], options: DeleteOptions): string[] {
  const others = present.filter((finalizer) => finalizer !== ORPHAN && finalizer !== FOREGROUND)
  switch (options.propagation) {
    case 'Orphan':
      return [...others, ORPHAN]
    case 'Foreground':
      return [...others, FOREGROUND]
    case 'Background':
      return others
    default:
      return kind.garbageCollection === 'orphan' && others.length === present.length
        ? [...others, ORPHAN]
        : [...present]
  }
}

/** Nothing holds the object any more: no finalizer, no grace period. */
export function isReadyToGo(kind: Kind, object: KubernetesObject): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds, finalizers } = object.metadata
  if (deletionTimestamp === undefined || (finalizers?.length ?? 0) > 0) return false
  if (kind.gracePeriod && (deletionGracePeriodSeconds ?? 0) > 0) return false
  return !(kind.isHeld?.(object) ?? false)
}

async function admitDeletion(
  machinery: Machinery,
  request: ResourceRequest,
  target: Target,
  current: CachedObject,
  options: DeleteOptions,
): Promise<void> {
  const admission = {
    operation: 'DELETE' as const,
    kind: target.storage,
    requestKind: request.kind,
    subresource: '',
    namespace: request.namespace,
    name: request.name,
    draft: undefined,
    old: current.object,
    user: request.user,
    dryRun: options.dryRun,
    options: deleteOptionsOf(options),
    warn: (message: string) => request.warnings.push(message),
    ...(request.annotate && { annotate: request.annotate }),
  }
  await machinery.admission.admit(admission)
  await machinery.admission.validate(admission)
}

function deleteOptionsOf({ gracePeriodSeconds, propagation, preconditions, dryRun }: DeleteOptions) {
  return {
    kind: 'DeleteOptions',
    apiVersion: 'meta.k8s.io/v1',
    ...(gracePeriodSeconds !== undefined && { gracePeriodSeconds }),
    ...(Object.keys(preconditions).length > 0 && { preconditions }),
    ...(propagation && { propagationPolicy: propagation }),
    ...(dryRun && { dryRun: ['All'] }),
  }
}

function deleted(request: ResourceRequest, object: KubernetesObject): Status {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: {
      name: request.name,
      ...(request.kind.group && { group: request.kind.group }),
      kind: request.kind.plural,
      uid: object.metadata.uid!,
    },
  }
}
