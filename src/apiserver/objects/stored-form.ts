import type { KubernetesObject } from '../../api/meta/object.ts'
import type { CachedObject } from '../watch-cache/cached-object.ts'
import type { WatchSink } from '../watch-cache/watcher.ts'
import { EventBatch, type ObjectEvent } from '../watch-cache/watcher.ts'

/**
 * How the stored objects of a kind become what it shows, and back. Custom resources need it: theirs may be stored in
 * another version, or from before the schema changed. A promise comes back where somebody else has to be asked.
 */
export interface StoredForm {
  /** Changes whenever the same stored objects would look different. */
  readonly id: string
  /** The objects as the kind shows them, in the same order. What was read before is answered at once. */
  read(stored: readonly CachedObject[]): readonly CachedObject[] | Promise<readonly CachedObject[]>
  /** What to store for a draft; the draft itself if it is stored as it is. */
  write(draft: KubernetesObject): KubernetesObject | Promise<KubernetesObject>
}

export async function readOne(form: StoredForm | undefined, stored: CachedObject): Promise<CachedObject> {
  return form ? (await form.read([stored]))[0]! : stored
}

/** The object as the kind shows it, if that is known without asking anybody. */
export function readNow(form: StoredForm | undefined, stored: CachedObject): CachedObject {
  const read = form?.read([stored])
  return read === undefined || read instanceof Promise ? stored : read[0]!
}

type Selects = (object: CachedObject) => boolean

/** Passes events on as the kind shows them, in order. `selects` sees objects in that form. */
export class FormedSink implements WatchSink {
  readonly #form: StoredForm
  readonly #sink: WatchSink
  readonly #selects: Selects | undefined
  #pending: Promise<void> | undefined

  constructor(form: StoredForm, sink: WatchSink, selects: Selects | undefined) {
    this.#form = form
    this.#sink = sink
    this.#selects = selects
  }

  deliver(batch: EventBatch): void {
    const formed = this.#formed(batch)
    if (this.#pending === undefined && !(formed instanceof Promise)) this.#pass(formed)
    else this.#after(async () => this.#pass(await formed))
  }

  bookmark(revision: number, initialEventsEnd: boolean): void {
    if (this.#pending === undefined) this.#sink.bookmark(revision, initialEventsEnd)
    else this.#after(() => this.#sink.bookmark(revision, initialEventsEnd))
  }

  end(): void {
    if (this.#pending === undefined) this.#sink.end()
    else this.#after(() => this.#sink.end())
  }

  #pass(batch: EventBatch): void {
    if (batch.events.length > 0) this.#sink.deliver(batch)
  }

  /** One after the other; who cannot be shown what happened has to begin again. */
  #after(step: () => void | Promise<void>): void {
    const chain = (this.#pending ?? Promise.resolve()).then(step).catch(() => this.#sink.end())
    this.#pending = chain
    void chain.then(() => {
      if (this.#pending === chain) this.#pending = undefined
    })
  }

  #formed(batch: EventBatch): EventBatch | Promise<EventBatch> {
    const { events } = batch
    const objects = events.map(({ object }) => object)
    const needsPrevious = this.#selects !== undefined
    const previous = needsPrevious ? events.map((event) => event.previous).filter((one) => one !== undefined) : []
    const read = this.#form.read([...objects, ...previous])
    return read instanceof Promise ? read.then((shown) => this.#rebuilt(batch, shown)) : this.#rebuilt(batch, read)
  }

  #rebuilt(batch: EventBatch, shown: readonly CachedObject[]): EventBatch {
    const selects = this.#selects
    // Nothing is different: watchers of the same objects go on sharing their frames.
    if (selects === undefined && batch.events.every(({ object }, i) => object === shown[i])) return batch
    let next = batch.events.length
    const events: ObjectEvent[] = []
    for (const [i, event] of batch.events.entries()) {
      const object = shown[i]!
      if (selects === undefined) {
        events.push({ type: event.type, object })
        continue
      }
      const before = event.previous && shown[next++]
      const type = seenType(event, selects(object), before !== undefined && selects(before))
      if (type !== undefined) events.push({ type, object })
    }
    return new EventBatch(events)
  }
}

function seenType(event: ObjectEvent, isIn: boolean, wasIn: boolean): ObjectEvent['type'] | undefined {
  if (event.type === 'DELETED') return isIn || wasIn ? 'DELETED' : undefined
  if (isIn) return wasIn ? 'MODIFIED' : 'ADDED'
  return wasIn ? 'DELETED' : undefined
}
