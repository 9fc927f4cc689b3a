import { hostname } from 'node:os'
import { NAMESPACE } from '../../api/meta/well-known.ts'
import { createClient } from '../../client/client.ts'
import { createEventRecorder } from '../../client/events.ts'
import { createInformerFactory } from '../../client/informer-factory.ts'
import { runLeaderElection } from '../../client/leader-election.ts'
import type { Transport } from '../../client/transport.ts'
import { type ControlPlaneContext, controllers, defaultControllers } from '../../controllers/all.ts'
import { type ControllerRunner, runControllers } from '../../controllers/runner.ts'

export interface ControllersOptions
  extends Pick<
    ControlPlaneContext,
    | 'clock'
    | 'random'
    | 'log'
    | 'rootCertificate'
    | 'certificateSigner'
    | 'clusterCidrs'
    | 'loadBalancerPools'
    | 'volumesDirectory'
  > {
  /** Reads for all controllers, and stands for election. */
  readonly transport: Transport
  /** What a controller does it does as itself, where this tells how. */
  readonly transportFor?: (controller: string) => Transport
  /** Which controllers to run, by the names of `controllers/all.ts`; all by default. */
  readonly names?: readonly string[]
  /** Other control planes work on the same store: one of them leads, the others wait. */
  readonly isShared: boolean
}

/** The controllers of one control plane, while it leads. */
export interface RunningControllers extends AsyncDisposable {
  /** Whether any controller has work waiting or under way. */
  readonly isBusy: boolean
}

const LEASE = { namespace: NAMESPACE.system, name: 'kube-controller-manager' }
/** Milliseconds before standing for election again after the work of a leader failed as a whole. */
const RETRY_PAUSE = 1000

/**
 * Starts the controllers as soon as this control plane leads. Where no other can exist, this waits until they run;
 * otherwise the election goes on behind.
 */
export async function startControllers(options: ControllersOptions): Promise<RunningControllers> {
  const names = options.names ?? defaultControllers()
  const unknown = names.filter((name) => !Object.hasOwn(controllers, name))
  if (unknown.length > 0) throw new Error(`there is no controller ${unknown.join(', ')}`)
  const stop = new AbortController()
  let running: ControllerRunner | undefined
  let onLeading = () => {}
  const leading = new Promise<void>((resolve) => {
    onLeading = resolve
  })
  const ended = electUntil(stop.signal, options, (signal) =>
    runUntil(signal, options, names, (runner) => {
      running = runner
      onLeading()
    }),
  )
  if (!options.isShared) await leading
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
  { transport, clock, random, log, isShared }: ControllersOptions,
  lead: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const identity = `${hostname()}_${random.uuid()}`
  const client = createClient(transport)
  while (!signal.aborted) {
    try {
      // Alone on a store there is nobody to agree with, and an idle cluster writes nothing.
      if (!isShared) await lead(signal)
      else await runLeaderElection({ client, clock, random, log, ...LEASE, identity, signal, lead })
    } catch (error) {
      log.error('the controllers failed; starting them again', { error })
      await clock.sleep(RETRY_PAUSE, signal).catch(() => {})
    }
  }
}

/** Runs the controllers until the signal aborts, and leaves nothing of them behind. */
async function runUntil(
  signal: AbortSignal,
  options: ControllersOptions,
  names: readonly string[],
  onRunning: (runner: ControllerRunner) => void,
): Promise<void> {
  const {
    transport,
    transportFor = () => transport,
    clock,
    random,
    log,
    rootCertificate,
    certificateSigner,
    clusterCidrs,
    loadBalancerPools,
    volumesDirectory,
  } = options
  const informers = createInformerFactory({ transport, clock, random, log })
  const clients = names.map((name) => createClient(transportFor(name)))
  const recorders = names.map((component, i) =>
    createEventRecorder({ client: clients[i]!, clock, random, log, component }),
  )
  const created = names.map((name, i) =>
    controllers[name]!({
      client: clients[i]!,
      informers,
      clock,
      random,
      log,
      rootCertificate,
      certificateSigner,
      ...(clusterCidrs && { clusterCidrs }),
      ...(loadBalancerPools && { loadBalancerPools }),
      ...(volumesDirectory && { volumesDirectory }),
      events: recorders[i]!,
    }),
  )
  const runner = await runControllers(created, { clock, log })
  try {
    onRunning(runner)
    await aborted(signal)
  } finally {
    await runner[Symbol.asyncDispose]()
    await Promise.all(recorders.map((recorder) => recorder[Symbol.asyncDispose]()))
    await informers[Symbol.asyncDispose]()
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
