import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import type { Random } from '../../base/random.ts'
import { createClient } from '../../client/client.ts'
import { createEventRecorder } from '../../client/events.ts'
import { createInformerFactory } from '../../client/informer-factory.ts'
import type { Transport } from '../../client/transport.ts'
import {
  type SimulatedNodeSpec,
  type SimulatedNodes,
  startSimulatedNodes as startNodes,
} from '../../kubelet/simulated-node.ts'

export interface SimulatedNodesOptions {
  readonly transport: Transport
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  /** How many, or which. */
  readonly nodes: number | readonly SimulatedNodeSpec[]
  /** Whether a controller gives nodes their ranges of pod addresses. */
  readonly awaitPodCIDR: boolean
}

/** With more nodes than this, events of single containers are not recorded. */
const NODES_WITH_EVENTS = 100

const simulatedNodeNames = (count: number) => Array.from({ length: count }, (_, i) => ({ name: `node-${i + 1}` }))

export interface RunningSimulatedNodes extends AsyncDisposable {
  readonly simulated: SimulatedNodes
  /** Resolves when all events recorded so far were sent. */
  flushed(): Promise<void>
}

/** Starts simulated nodes in this process. */
export async function startSimulatedNodes(options: SimulatedNodesOptions): Promise<RunningSimulatedNodes> {
  const { transport, clock, random, log, awaitPodCIDR } = options
  const specs = typeof options.nodes === 'number' ? simulatedNodeNames(options.nodes) : options.nodes
  const client = createClient(transport)
  const informers = createInformerFactory({ transport, clock, random, log })
  const events = createEventRecorder({ client, clock, random, log, component: 'kubelet' })
  const told = specs.length <= NODES_WITH_EVENTS ? { events } : {}
  const simulated = await startNodes({ client, informers, clock, random, log, awaitPodCIDR, ...told })
  const dispose = async () => {
    await simulated[Symbol.asyncDispose]()
    await events[Symbol.asyncDispose]()
    await informers[Symbol.asyncDispose]()
  }
  try {
    await simulated.add(specs)
  } catch (error) {
    await dispose()
    throw error
  }
  return { simulated, flushed: () => events.flushed(), [Symbol.asyncDispose]: dispose }
}
