import type { Kind } from '../../api/kind.ts'
import { expired } from '../../api/meta/api-error.ts'
import type { Timer } from '../../base/clock.ts'
import { CompactedError } from '../../store/store.ts'
import { FormedSink } from '../objects/stored-form.ts'
import type { ResourceRequest } from '../request/resource-request.ts'
import { CachedObject } from '../watch-cache/cached-object.ts'
import { eventFor, type ResourceCache, type Subscription } from '../watch-cache/resource-cache.ts'
import { EventBatch, type ObjectEvent, type ObjectFilter, type WatchSink } from '../watch-cache/watcher.ts'
import { objectFilter } from './filter.ts'
import { reachVersion } from './get.ts'
import { type ListOptions, parseListOptions } from './list-options.ts'
import { cacheOf, type Machinery, targetOf } from './machinery.ts'

/** A watch whose beginning has been found. Nothing is delivered before `begin`. */
export interface OpenWatch {
  readonly kind: Kind
  readonly timeoutSeconds: number | undefined
  /** Delivers what came before and then everything as it happens. Returns how to stop. */
  begin(sink: WatchSink): () => void
}

const BOOKMARK_PERIOD_MS = 60_000

export async function watch(machinery: Machinery, request: ResourceRequest): Promise<OpenWatch> {
  const options = parseListOptions(request.query, true)
  const target = targetOf(machinery, request)
  const { form } = target
  const filter = objectFilter(request.kind, target.prefix, form, {
    namespace: request.namespace,
    name: request.name,
    ...options,
  })
  // Fields are looked at in the form that is shown, after the objects were brought into it.
  const isLate = form !== undefined && filter.readsFields === true
  const scope = isLate ? { ...filter, id: `${filter.id}|all`, matches: undefined } : filter
  const beginning = await findBeginning(machinery, target.prefix, scope, options)
  return {
    kind: request.kind,
    timeoutSeconds: options.timeoutSeconds,
    begin: (sink) => {
      const formed = form ? new FormedSink(form, sink, isLate ? filter.matches : undefined) : sink
      return begin(machinery, scope, options, beginning, formed)
    },
  }
}

/** The cache to follow, and what must be told first. */
interface Beginning {
  readonly cache: ResourceCache
  /** Undefined: the state of the cache at the moment the watch begins. */
  readonly since: number | undefined
  /** Events older than the cache's memory, read from the store; `since` is the last of them. */
  readonly history: readonly ObjectEvent[]
}

async function findBeginning(
  machinery: Machinery,
  prefix: string,
  filter: ObjectFilter,
  options: ListOptions,
): Promise<Beginning> {
  const wantsState = options.sendInitialEvents ?? !options.resourceVersion
  await reachVersion(machinery, wantsState ? options.resourceVersion : options.resourceVersion || undefined)
  const cache = await cacheOf(machinery, prefix)
  if (wantsState) return { cache, since: undefined, history: [] }
  const since = options.resourceVersion || machinery.feed.revision
  if (since >= cache.completeSince) return { cache, since, history: [] }
  const history = await readHistory(machinery, filter, prefix, since, cache.completeSince)
  return { cache, since: cache.completeSince, history }
}

/** Replays the store's own history up to where the cache's memory begins. */
async function readHistory(
  machinery: Machinery,
  filter: ObjectFilter,
  prefix: string,
  after: number,
  upTo: number,
): Promise<ObjectEvent[]> {
  const events: ObjectEvent[] = []
  const stop = new AbortController()
  // If nothing of this prefix happened, only a progress report tells that the end is reached.
  const asking = askForProgress(machinery, stop.signal)
  try {
    for await (const batch of machinery.store.watch(prefix, after, stop.signal)) {
      if (batch.revision > upTo) break
      for (const change of batch.changes) {
        const event = eventFor(
          {
            revision: change.revision,
            current: change.entry && new CachedObject(change.entry),
            previous: change.previous && new CachedObject(change.previous),
          },
          filter,
        )
        if (event) events.push(event)
      }
      if (batch.revision === upTo) break
    }
    return events
  } catch (error) {
    throw error instanceof CompactedError ? tooOld(after, error.oldest) : error
  } finally {
    stop.abort()
    await asking
  }
}

const PROGRESS_PERIOD_MS = 20

async function askForProgress(machinery: Machinery, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await machinery.clock.sleep(PROGRESS_PERIOD_MS, signal).catch(() => {})
    if (!signal.aborted) machinery.store.requestProgress()
  }
}

const tooOld = (asked: number, oldest: number) => expired(`too old resource version: ${asked} (${oldest})`)

function begin(
  machinery: Machinery,
  filter: ObjectFilter,
  options: ListOptions,
  beginning: Beginning,
  sink: WatchSink,
): () => void {
  const { cache, since, history } = beginning
  const first = since === undefined ? currentState(cache, filter) : cache.eventsAfter(since, filter)
  // The cache moved on so far meanwhile that it forgot our place: rare, and the client knows what to do.
  if (!first) throw tooOld(since!, cache.completeSince)
  const events = history.length === 0 ? first : [...history, ...first]
  if (events.length > 0) sink.deliver(new EventBatch(events))
  if (options.sendInitialEvents) sink.bookmark(machinery.feed.revision, true)
  const subscription = cache.subscribe(filter, sink)
  const stopBookmarks = options.allowBookmarks ? startBookmarks(machinery, subscription, sink) : () => {}
  return () => {
    stopBookmarks()
    subscription.end()
  }
}

function currentState(cache: ResourceCache, filter: ObjectFilter): ObjectEvent[] {
  return cache.select(filter).map((object) => ({ type: 'ADDED', object }))
}

function startBookmarks(machinery: Machinery, subscription: Subscription, sink: WatchSink): () => void {
  let timer: Timer
  let isStopped = false
  const next = () => {
    // What was told just now may have ended the watch.
    if (isStopped) return
    // Spread out, so that a thousand watchers are not served in one tick.
    const delay = BOOKMARK_PERIOD_MS * (0.75 + machinery.random.next() / 2)
    timer = machinery.clock.after(delay, () => {
      subscription.catchUp()
      sink.bookmark(machinery.feed.revision, false)
      next()
    })
    timer.unref()
  }
  next()
  return () => {
    isStopped = true
    timer.cancel()
  }
}
