import { hostname } from 'node:os'
import { NAMESPACE } from '../../api/meta/well-known.ts'
import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import type { Random } from '../../base/random.ts'
import { createClient } from '../../client/client.ts'
import { createInformerFactory } from '../../client/informer-factory.ts'
import { runLeaderElection } from '../../client/leader-election.ts'
import type { Transport } from '../../client/transport.ts'
import type { SchedulerConfiguration } from '../../scheduler/configuration.ts'
import { type Scheduler, startScheduler } from '../../scheduler/scheduler.ts'

export interface ClusterSchedulerOptions {
  readonly transport: Transport
  /** Other control planes work on the same store: one of them leads, the others wait. */
  readonly isShared: boolean
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly configuration?: SchedulerConfiguration
}

/** The scheduler of one control plane, while it leads. */
export interface RunningScheduler extends AsyncDisposable {
  /** Whether any pod is being decided on or bound. */
  readonly isBusy: boolean
}

const LEASE = { namespace: NAMESPACE.system, name: 'kube-scheduler' }
/** Milliseconds before standing for election again after the work of a leader failed as a whole. */
const RETRY_PAUSE = 1000

/** Starts the scheduler as soon as this control plane leads; where no other can exist, waits until it runs. */
export async function startClusterScheduler(options: ClusterSchedulerOptions): Promise<RunningScheduler> {
  const { isShared } = options
  if (!isShared) return startAlone(options)
  const stop = new AbortController()
  let running: Scheduler | undefined
  const ended = electUntil(stop.signal, options, async (signal) => {
    await using scheduler = await startAlone(options)
    running = scheduler
    await aborted(signal)
    running = undefined
  })
  return {
    get isBusy() {
      return running?.isBusy ?? false
    },
    async [Symbol.asyncDispose]() {
      stop.abort()
      await ended
    },
  }
}

async function electUntil(
  signal: AbortSignal,
  { transport, clock, random, log }: ClusterSchedulerOptions,
  lead: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const identity = `${hostname()}_${random.uuid()}`
  const client = createClient(transport)
  while (!signal.aborted) {
    try {
      await runLeaderElection({ client, clock, random, log, ...LEASE, identity, signal, lead })
    } catch (error) {
      log.error('the scheduler failed; starting it again', { error })
      await clock.sleep(RETRY_PAUSE, signal).catch(() => {})
    }
  }
}

/** A scheduler with informers of its own, which end with it. */
async function startAlone(options: ClusterSchedulerOptions): Promise<Scheduler> {
  const { transport, clock, random, log, configuration } = options
  const informers = createInformerFactory({ transport, clock, random, log })
  try {
    const scheduler = await startScheduler({
      client: createClient(transport),
      informers,
      clock,
      random,
      log: log.child({ component: 'scheduler' }),
      ...(configuration && { configuration }),
    })
    return {
      get isBusy() {
        return scheduler.isBusy
      },
      get pendingPods() {
        return scheduler.pendingPods
      },
      get untoldEvents() {
        return scheduler.untoldEvents
      },
      explain: (pod) => scheduler.explain(pod),
      async [Symbol.asyncDispose]() {
        await scheduler[Symbol.asyncDispose]()
        await informers[Symbol.asyncDispose]()
      },
    }
  } catch (error) {
    await informers[Symbol.asyncDispose]()
    throw error
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
