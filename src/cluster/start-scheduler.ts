import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import type { Random } from '../base/random.ts'
import { createClient } from '../client/client.ts'
import { createInformerFactory } from '../client/informer-factory.ts'
import type { Transport } from '../client/transport.ts'
import type { SchedulerConfiguration } from '../scheduler/configuration.ts'
import { type Scheduler, startScheduler } from '../scheduler/scheduler.ts'

export interface ClusterSchedulerOptions {
  readonly transport: Transport
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly configuration?: SchedulerConfiguration
}

export const SCHEDULER_USER = { name: 'system:kube-scheduler', groups: ['system:masters', 'system:authenticated'] }

/** The scheduler of a cluster, with informers of its own. */
export async function startClusterScheduler(options: ClusterSchedulerOptions): Promise<Scheduler> {
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
