import type { Pod } from '../api/generated/core-v1.ts'
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import type { Random } from '../base/random.ts'
import type { Client } from '../client/client.ts'
import { createEventRecorder } from '../client/events.ts'
import type { InformerFactory } from '../client/informer-factory.ts'
import { DEFAULT_SCHEDULER_NAME, type SchedulerConfiguration } from './configuration.ts'
import { type Explanation, explainPod } from './explain.ts'
import { feed } from './feed/feed.ts'
import { LateEvents } from './loop/late-events.ts'
import { type SchedulerEvents, SchedulingLoop } from './loop/scheduling-loop.ts'
import { SchedulingContext } from './scheduling-context.ts'

export interface SchedulerOptions {
  readonly client: Client
  readonly informers: InformerFactory
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly configuration?: SchedulerConfiguration
  /** Who is told what happened to pods; by default the API, as Events. */
  readonly events?: SchedulerEvents
}

/** A running scheduler. */
export interface Scheduler extends AsyncDisposable {
  /** Whether there is anything to decide, to bind or to write. Pods that wait for something do not count. */
  readonly isBusy: boolean
  /** Pods without a node. */
  readonly pendingPods: number
  /** Events that wait until there is nothing more urgent to do. */
  readonly untoldEvents: number
  /** Why a pod is where it is, or why it is nowhere, as things are now. */
  explain(pod: Pod): Explanation
}

/** Starts to give nodes to pods. Resolves when everything there is has been seen. */
export async function startScheduler(options: SchedulerOptions): Promise<Scheduler> {
  const { client, clock, random, log, informers, configuration = {} } = options
  const context = new SchedulingContext(options, configuration)
  const recorder = createEventRecorder({ client, clock, random, log, component: DEFAULT_SCHEDULER_NAME })
  const late = new LateEvents(recorder, clock)
  const events = options.events ?? late
  const loop = new SchedulingLoop({ context, configuration, client, clock, log, events })
  loop.hold()
  const stop = feed(context, informers, loop)
  await informers.synced()
  loop.release()
  return {
    get isBusy() {
      return loop.isBusy || late.isBusy
    },
    get pendingPods() {
      return loop.queue.length
    },
    get untoldEvents() {
      return late.waiting
    },
    explain: (pod) => explainPod(context, pod),
    async [Symbol.asyncDispose]() {
      stop()
      await loop.stop()
      await late.stop()
    },
  }
}
