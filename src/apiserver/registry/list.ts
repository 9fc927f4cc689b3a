import { badRequest, expired } from '../../api/meta/api-error.ts'
import { inTurns } from '../../base/take-turn.ts'
import { CompactedError, type Entry, FutureRevisionError } from '../../store/store.ts'
import type { StoredForm } from '../objects/stored-form.ts'
import type { ResourceRequest } from '../request/resource-request.ts'
import { CachedObject } from '../watch-cache/cached-object.ts'
import type { ResourceCache } from '../watch-cache/resource-cache.ts'
import { type ObjectFilter, selects } from '../watch-cache/watcher.ts'
import type { Answer, ObjectPage } from './answer.ts'
import { decodeContinueToken, encodeContinueToken, expiredContinue } from './continue-token.ts'
import { objectFilter } from './filter.ts'
import { isFresh, reachVersion } from './get.ts'
import { type ListOptions, parseListOptions } from './list-options.ts'
import { cacheOf, type Machinery, type Target, targetOf } from './machinery.ts'

/** Like a get, answered at once from a cache that is loaded and fresh enough. */
export function list(machinery: Machinery, request: ResourceRequest): Answer | Promise<Answer> {
  const options = parseListOptions(request.query, false)
  const target = targetOf(machinery, request)
  const filter = objectFilter(request.kind, target.prefix, target.form, { ...scopeOf(request), ...options })
  if (target.form) return formedList(machinery, request, target, target.form, filter, options)
  const answer = (found: ObjectPage): Answer => ({ type: 'list', kind: request.kind, list: found })
  const cache = machinery.feed.loaded(target.prefix)
  if (cache && !options.continueToken && !isExact(options) && isFresh(machinery, options.resourceVersion)) {
    const found = cachedPage(cache, machinery.feed.revision, filter, options.limit, undefined)
    return found instanceof Promise ? found.then(answer) : answer(found)
  }
  return page(machinery, target, filter, options).then(answer)
}

/** A list of objects that are not stored as they are shown. */
async function formedList(
  machinery: Machinery,
  request: ResourceRequest,
  target: Target,
  form: StoredForm,
  filter: ObjectFilter,
  options: ListOptions,
): Promise<Answer> {
  // Selectors see objects as they are shown, so all of them are brought into that form first.
  if (filter.readsFields) {
    await form.read((await cacheOf(machinery, target.prefix)).select({ ...filter, matches: undefined }))
  }
  const stored = await page(machinery, target, filter, options)
  const identity = stored.identity && `${form.id}:${stored.identity}`
  const list = { ...stored, identity, objects: await form.read(stored.objects) }
  return { type: 'list', kind: request.kind, list }
}

/** The state at exactly one version; with a limit that is what a version alone means. */
function isExact({ versionMatch, limit, resourceVersion = 0 }: ListOptions): boolean {
  return versionMatch === 'Exact' || (versionMatch === '' && limit > 0 && resourceVersion > 0)
}

export const scopeOf = (request: ResourceRequest) => ({ namespace: request.namespace, name: '' })

async function page(
  machinery: Machinery,
  target: Target,
  filter: ObjectFilter,
  options: ListOptions,
): Promise<ObjectPage> {
  const { limit } = options
  if (options.continueToken) return continuedPage(machinery, target, filter, options)
  if (isExact(options)) return storedPage(machinery, filter, limit, options.resourceVersion!, undefined)
  await reachVersion(machinery, options.resourceVersion)
  return cachedPage(await cacheOf(machinery, target.prefix), machinery.feed.revision, filter, limit, undefined)
}

async function continuedPage(
  machinery: Machinery,
  target: Target,
  filter: ObjectFilter,
  options: ListOptions,
): Promise<ObjectPage> {
  if (options.resourceVersion !== undefined && options.resourceVersion !== 0) {
    throw badRequest('specifying resource version is not allowed when using continue')
  }
  const token = decodeContinueToken(options.continueToken)
  const after = target.prefix + token.after
  const cache = await cacheOf(machinery, target.prefix)
  if (token.revision === -1) return cachedPage(cache, machinery.feed.revision, filter, options.limit, after)
  try {
    // Nothing of this resource changed since the first page: the cache still shows that very state. But a token lives no
    // longer than the state of its time does in the store: clients expect that.
    if (cache.lastChange <= token.revision && token.revision <= machinery.feed.revision) {
      await machinery.store.get(after, token.revision)
      return cachedPage(cache, token.revision, filter, options.limit, after)
    }
    return await storedPage(machinery, filter, options.limit, token.revision, after)
  } catch (error) {
    throw error instanceof CompactedError ? expiredContinue(token.after) : error
  }
}

function cachedPage(
  cache: ResourceCache,
  revision: number,
  filter: ObjectFilter,
  limit: number,
  after: string | undefined,
): ObjectPage | Promise<ObjectPage> {
  if (filter.matches !== undefined && cache.bytes > LARGE_BYTES) {
    const candidates = candidatesFor(cache, filter, after)
    if (isLarge(candidates)) return pageInTurns(cache, revision, filter, limit, candidates)
  }
  const objects: CachedObject[] = []
  let hasMore = false
  cache.visit(filter, after, (object) => {
    hasMore = limit > 0 && objects.length === limit
    if (!hasMore) objects.push(object)
    return !hasMore
  })
  return foundPage(cache, revision, filter, limit, after, objects, hasMore)
}

/** Reading so much takes a few milliseconds. */
const LARGE_BYTES = 256 * 1024
/** Objects that are looked at in one step. */
const AT_ONCE = 16

function isLarge(objects: readonly CachedObject[]): boolean {
  let bytes = 0
  for (const object of objects) bytes += object.bytes.length
  return bytes > LARGE_BYTES
}

function candidatesFor(cache: ResourceCache, filter: ObjectFilter, after: string | undefined): CachedObject[] {
  const candidates: CachedObject[] = []
  cache.visit({ ...filter, matches: undefined }, after, (object) => candidates.push(object) > 0)
  return candidates
}

/** The same from the objects of this moment, which are looked at in turns with others. */
async function pageInTurns(
  cache: ResourceCache,
  revision: number,
  filter: ObjectFilter,
  limit: number,
  candidates: readonly CachedObject[],
): Promise<ObjectPage> {
  const wanted = limit > 0 ? limit + 1 : Number.POSITIVE_INFINITY
  function* steps() {
    let found = 0
    for (let at = 0; at < candidates.length && found < wanted; at += AT_ONCE) {
      const some = candidates.slice(at, at + AT_ONCE).filter(filter.matches!)
      found += some.length
      yield some
    }
  }
  const found = await inTurns(steps())
  const objects = limit > 0 ? found.slice(0, limit) : found
  return foundPage(cache, revision, filter, limit, undefined, objects, found.length > objects.length)
}

function foundPage(
  cache: ResourceCache,
  revision: number,
  filter: ObjectFilter,
  limit: number,
  after: string | undefined,
  objects: CachedObject[],
  hasMore: boolean,
): ObjectPage {
  const remaining = hasMore ? cache.countAfter(filter.keyPrefix, objects.at(-1)!.key) : 0
  const isWhole = limit === 0 && after === undefined && filter.matches === undefined && !filter.exactKey
  const identity = isWhole ? `${filter.keyPrefix}@${cache.lastChange}` : undefined
  return toPage(cache.prefix, filter, objects, revision, remaining, identity)
}

async function storedPage(
  machinery: Machinery,
  filter: ObjectFilter,
  limit: number,
  at: number,
  after: string | undefined,
): Promise<ObjectPage> {
  const prefix = filter.keyPrefix.slice(0, filter.keyPrefix.indexOf('/', '/registry/'.length) + 1)
  const objects: CachedObject[] = []
  let remaining = 0
  let from = after
  do {
    const page = await readStore(machinery, filter, { at, limit: limit || undefined, after: from })
    remaining = page.remaining
    const matching = page.entries.map((entry) => new CachedObject(entry)).filter((object) => selects(filter, object))
    const room = limit === 0 ? matching.length : limit - objects.length
    objects.push(...matching.slice(0, room))
    if (matching.length > room) remaining += matching.length - room
    from = page.entries.at(-1)?.key
  } while (remaining > 0 && limit > 0 && objects.length < limit)
  return toPage(prefix, filter, objects, at, remaining, undefined)
}

async function readStore(
  machinery: Machinery,
  filter: ObjectFilter,
  options: { at: number; limit: number | undefined; after: string | undefined },
): Promise<{ entries: readonly Entry[]; remaining: number }> {
  const { at, limit, after } = options
  try {
    return await machinery.store.list(filter.keyPrefix, { at, ...(limit && { limit }), ...(after && { after }) })
  } catch (error) {
    if (error instanceof CompactedError && after === undefined) {
      throw expired(`The resourceVersion for the provided list is too old.`)
    }
    if (error instanceof FutureRevisionError) {
      await reachVersion(machinery, at)
      return machinery.store.list(filter.keyPrefix, { at, ...(limit && { limit }), ...(after && { after }) })
    }
    throw error
  }
}

function toPage(
  prefix: string,
  filter: ObjectFilter,
  objects: CachedObject[],
  revision: number,
  remaining: number,
  identity: string | undefined,
): ObjectPage {
  const last = objects.at(-1)
  const continueToken =
    remaining > 0 && last ? encodeContinueToken({ revision, after: last.key.slice(prefix.length) }) : ''
  return {
    objects,
    revision,
    continueToken,
    remaining: remaining > 0 && filter.matches === undefined ? remaining : undefined,
    identity,
  }
}
