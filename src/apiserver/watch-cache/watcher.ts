import type { CachedObject } from './cached-object.ts'

/** An event as one group of watchers sees it. */
export interface ObjectEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly object: CachedObject
  /** As it was before, where somebody has to look at it again. */
  readonly previous?: CachedObject | undefined
}

/** How watchers write an event down. Watchers with the same encoding share one frame. */
export interface FrameEncoding {
  encode(event: ObjectEvent): Buffer
}

/** Events that go to every watcher of a group at once; each encoding is made once and shared. */
export class EventBatch {
  readonly events: readonly ObjectEvent[]
  readonly #frames = new Map<FrameEncoding, Buffer>()

  constructor(events: readonly ObjectEvent[]) {
    this.events = events
  }

  frame(encoding: FrameEncoding): Buffer {
    let frame = this.#frames.get(encoding)
    if (!frame) {
      const parts = this.events.map((event) => encoding.encode(event))
      frame = parts.length === 1 ? parts[0]! : Buffer.concat(parts)
      this.#frames.set(encoding, frame)
    }
    return frame
  }
}

export interface Watcher {
  deliver(batch: EventBatch): void
  /** Nothing more will come; the client has to list again. */
  end(): void
}

/** Which objects a list or watch is about. Filters with the same `id` select the same objects. */
export interface ObjectFilter {
  readonly id: string
  /** All keys of the scope begin with this: the resource, one namespace of it, or one object. */
  readonly keyPrefix: string
  /** Set if `keyPrefix` names exactly one object. */
  readonly exactKey: boolean
  /** Undefined if every object of the scope is meant. */
  readonly matches: ((object: CachedObject) => boolean) | undefined
  /** Looks at more than key and labels. */
  readonly readsFields?: boolean
}

export function selects(filter: ObjectFilter, object: CachedObject): boolean {
  if (filter.exactKey ? object.key !== filter.keyPrefix : !object.key.startsWith(filter.keyPrefix)) return false
  return filter.matches === undefined || filter.matches(object)
}

/** Where the events of one watch go: an HTTP stream, or a loop in this process. */
export interface WatchSink extends Watcher {
  /** All up to this revision has been delivered. `initialEventsEnd`: that was the state at the start. */
  bookmark(revision: number, initialEventsEnd: boolean): void
}
