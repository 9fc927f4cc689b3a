import { ApiError, objectNotFound } from '../../api/meta/api-error.ts'
import type { ResourceRequest } from '../request/resource-request.ts'
import type { CachedObject } from '../watch-cache/cached-object.ts'
import type { ResourceCache } from '../watch-cache/resource-cache.ts'
import type { Answer } from './answer.ts'
import { parseResourceVersion } from './list-options.ts'
import { cacheOf, catchUp, type Machinery, type Target, targetOf } from './machinery.ts'

/** Answers at once when the cache is loaded and as fresh as asked for, which is nearly always. */
export function get(machinery: Machinery, request: ResourceRequest): Answer | Promise<Answer> {
  const target = targetOf(machinery, request)
  const version = parseResourceVersion(request.query.get('resourceVersion'))
  const cache = machinery.feed.loaded(target.prefix)
  if (cache && isFresh(machinery, version)) return found(request, target, cache)
  return getLater(machinery, request, target, version)
}

async function getLater(
  machinery: Machinery,
  request: ResourceRequest,
  target: Target,
  version: number | undefined,
): Promise<Answer> {
  await reachVersion(machinery, version)
  return found(request, target, await cacheOf(machinery, target.prefix))
}

function found(request: ResourceRequest, target: Target, cache: ResourceCache): Answer | Promise<Answer> {
  const object = cache.get(target.key)
  if (!object) throw objectNotFound(target.ref, request.name)
  const answer = (shown: CachedObject): Answer => ({ type: 'object', status: 200, kind: request.kind, object: shown })
  const read = target.form?.read([object])
  if (read instanceof Promise) return read.then(([shown]) => answer(shown!))
  return answer(read?.[0] ?? object)
}

/** Whether the caches show what a read of this version must see. */
export function isFresh(machinery: Machinery, version: number | undefined): boolean {
  return version === undefined ? !machinery.sharedStore : version <= machinery.feed.revision
}

/** How long a read waits for a version that the server has not seen yet. */
const FUTURE_VERSION_WAIT_MS = 3000

/** No version: everything acknowledged so far must be seen. 0: whatever is there. N: not older than N. */
export async function reachVersion(machinery: Machinery, version: number | undefined): Promise<void> {
  if (isFresh(machinery, version)) return
  if (version === undefined) return catchUp(machinery)
  const patience = new AbortController()
  const timer = machinery.clock.after(FUTURE_VERSION_WAIT_MS, () => patience.abort())
  const reached = await machinery.feed.reached(version, patience.signal)
  timer.cancel()
  if (!reached) throw tooLargeVersion(version, machinery.feed.revision)
}

function tooLargeVersion(asked: number, current: number): ApiError {
  const message = `Too large resource version: ${asked}, current: ${current}`
  return new ApiError(504, 'Timeout', `Timeout: ${message}`, {
    causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
    retryAfterSeconds: 1,
  })
}
