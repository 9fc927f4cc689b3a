import { ApiError, objectNotFound } from '../../api/meta/api-error.ts'
import type { CachedObject } from '../watch-cache/cached-object.ts'
import type { Answer } from './answer.ts'
import { parseResourceVersion } from './list-options.ts'
import { cacheOf, catchUp, type Machinery, type Target, targetOf } from './machinery.ts'
import type { ResourceRequest } from './request.ts'

export async function get(machinery: Machinery, request: ResourceRequest): Promise<Answer> {
  const target = targetOf(machinery, request)
  await reachVersion(machinery, parseResourceVersion(request.query.get('resourceVersion')))
  return { type: 'object', status: 200, kind: request.kind, object: await find(machinery, request, target) }
}

async function find(machinery: Machinery, request: ResourceRequest, target: Target): Promise<CachedObject> {
  const cache = machinery.feed.loaded(target.prefix) ?? (await cacheOf(machinery, target.prefix))
  const object = cache.get(target.key)
  if (!object) throw objectNotFound(target.ref, request.name)
  return object
}

/** How long a read waits for a version that the server has not seen yet. */
const FUTURE_VERSION_WAIT_MS = 3000

/** No version: everything acknowledged so far must be seen. 0: whatever is there. N: not older than N. */
export async function reachVersion(machinery: Machinery, version: number | undefined): Promise<void> {
  if (version === undefined) {
    if (machinery.sharedStore) await catchUp(machinery)
    return
  }
  if (version <= machinery.feed.revision) return
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
