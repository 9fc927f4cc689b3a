import { ApiError } from '../api/meta/api-error.ts'
import type { KubernetesObject } from '../api/meta/object.ts'
import { formatTime } from '../api/meta/time.ts'
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import { once } from '../base/once.ts'
import type { Random } from '../base/random.ts'
import type { Client, ResourceClient } from './client.ts'
import { EventCorrelator, type Verdict } from './event/correlator.ts'
import { LruMap } from './event/lru-map.ts'

/** Tells users what happened to an object, as Events. Never fails and never waits: events are best effort. */
export interface EventRecorder extends AsyncDisposable {
  event(about: KubernetesObject | ObjectReference, type: EventType, reason: string, message: string): void
  /** Resolves when everything recorded so far was sent or given up. */
  flushed(): Promise<void>
}

export type EventType = 'Normal' | 'Warning'

export interface ObjectReference {
  readonly apiVersion?: string
  readonly kind?: string
  readonly namespace?: string
  readonly name?: string
  readonly uid?: string
  readonly resourceVersion?: string
  /** A part of the object: `spec.containers{web}`. */
  readonly fieldPath?: string
}

export interface EventRecorderOptions {
  readonly client: Client
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  /** Who reports: `replicaset-controller`. */
  readonly component: string
  /** On which node, where that matters. */
  readonly host?: string
}

interface CoreEvent extends KubernetesObject {
  readonly involvedObject: ObjectReference
  readonly reason: string
  readonly message: string
  readonly type: EventType
  readonly source: { readonly component: string; readonly host?: string }
  readonly reportingComponent: string
  readonly reportingInstance: string
  readonly firstTimestamp: string
  readonly lastTimestamp: string
  readonly count: number
}

type Recorded = Extract<Verdict, { type: 'record' }>

const EVENTS = { group: '', version: 'v1', plural: 'events', namespaced: true }
const MAX_QUEUE = 1000
const MAX_TRIES = 12
const RETRY_PAUSE = 10_000
const MAX_MESSAGE = 1024

export function createEventRecorder(options: EventRecorderOptions): EventRecorder {
  return new CorrelatedRecorder(options)
}

class CorrelatedRecorder implements EventRecorder {
  readonly #options: EventRecorderOptions
  readonly #correlator = new EventCorrelator()
  /** Names of events that exist, by the correlator's key. */
  readonly #names = new LruMap<string>(4096)
  /** Made for the first event: most recorders never have one to send. */
  readonly #stop = once(() => new AbortController())
  #isOver = false
  #queued = 0
  #sending: Promise<void> = Promise.resolve()

  constructor(options: EventRecorderOptions) {
    this.#options = options
  }

  event(about: KubernetesObject | ObjectReference, type: EventType, reason: string, message: string): void {
    const { clock, component, host = '', log } = this.#options
    const now = clock.now()
    const reference = referenceOf(about)
    const subject = [
      component,
      host,
      reference.kind,
      reference.namespace,
      reference.name,
      reference.uid,
      reference.fieldPath,
    ]
    const verdict = this.#correlator.judge(
      { subject: subject.join('|'), group: [...subject, type, reason].join('|'), message },
      now,
    )
    if (verdict.type === 'drop' || this.#isOver) return
    if (this.#queued >= MAX_QUEUE) {
      log.debug('an event was dropped: too many wait', { reason, object: reference.name })
      return
    }
    const event = this.#eventOf(reference, type, reason, verdict, now)
    this.#queued++
    this.#sending = this.#sending.then(() => this.#send(event, verdict)).finally(() => this.#queued--)
  }

  flushed(): Promise<void> {
    return this.#sending
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true
    if (this.#queued > 0) this.#stop().abort()
    await this.#sending
  }

  #eventOf(reference: ObjectReference, type: EventType, reason: string, verdict: Recorded, now: number): CoreEvent {
    const { component, host, random } = this.#options
    const namespace = reference.namespace || 'default'
    const suffix = Math.floor(now * 1000 + random.next() * 1000).toString(16)
    return {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: `${reference.name ?? ''}.${suffix}`, namespace },
      involvedObject: reference,
      reason,
      message: verdict.message.slice(0, MAX_MESSAGE),
      type,
      source: { component, ...(host !== undefined && { host }) },
      reportingComponent: component,
      reportingInstance: host ?? '',
      firstTimestamp: formatTime(verdict.first),
      lastTimestamp: formatTime(now),
      count: verdict.count,
    }
  }

  async #send(event: CoreEvent, verdict: Recorded): Promise<void> {
    const { clock, client, log } = this.#options
    const { signal } = this.#stop()
    const events = client.resource<CoreEvent>(EVENTS).namespace(event.metadata.namespace!)
    for (let attempt = 1; !signal.aborted; attempt++) {
      try {
        return await this.#write(events, event, verdict)
      } catch (error) {
        // The server understood and refused (the namespace is gone, above all): it will do so again.
        if ((error instanceof ApiError && error.code < 500 && error.code !== 429) || attempt === MAX_TRIES) {
          log.debug('an event was refused', { reason: event.reason, error: String(error) })
          return
        }
      }
      await clock.sleep(RETRY_PAUSE, signal).catch(() => {})
    }
  }

  /** Raises the count of the event that exists, or makes one. */
  async #write(events: ResourceClient<CoreEvent>, event: CoreEvent, verdict: Recorded): Promise<void> {
    const known = verdict.count > 1 ? this.#names.get(verdict.key) : undefined
    if (known !== undefined) {
      const { message, count, lastTimestamp } = event
      try {
        await events.patch(known, { message, count, lastTimestamp })
        return
      } catch (error) {
        // Events live an hour; a story that goes on longer gets a new one.
        if (!(error instanceof ApiError) || error.code !== 404) throw error
      }
    }
    await events.create(event)
    this.#names.set(verdict.key, event.metadata.name!)
  }
}

function referenceOf(about: KubernetesObject | ObjectReference): ObjectReference {
  if (!('metadata' in about)) return about
  const { apiVersion, kind, metadata } = about
  const { namespace, name, uid, resourceVersion } = metadata
  const fields = { apiVersion, kind, namespace, name, uid, resourceVersion }
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}
