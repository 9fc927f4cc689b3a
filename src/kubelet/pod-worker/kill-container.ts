import type { Container, Pod } from '../../api/generated/core-v1.ts'
import { deadline, linkAbort } from '../../base/abort.ts'
import { runHook } from '../hooks/hooks.ts'
import type { RuntimeContainer } from '../pod/runtime-pod.ts'
import { recordContainer, type WorkerContext } from './worker-context.ts'

/** Everything that is stopped gets at least this long. */
const MINIMUM_SECONDS = 2

export interface Kill {
  readonly pod: Pod
  /** Undefined: the runtime has a container that the pod knows nothing of. */
  readonly container: Container | undefined
  readonly status: RuntimeContainer
  readonly podIP: string
  readonly graceSeconds: number
  /** For the event; `Stopping container <name>` without. */
  readonly message?: string
  /** Between the hook and the signal: a sidecar waits for those it serves. */
  readonly waitForTurn?: (signal: AbortSignal) => Promise<void>
  /** Aborted when there is less time than was said; asks how much is left. */
  readonly hurry?: { readonly signal: AbortSignal; readonly graceSeconds: () => number }
}

/** Stops a container: preStop hook, stop signal, and the kill at the end of its grace, which all of it counts into. */
export async function killContainer(context: WorkerContext, kill: Kill): Promise<void> {
  const { clock, runtime } = context
  const { pod, container, status, graceSeconds, waitForTurn, hurry } = kill
  const name = container?.name ?? status.name
  recordContainer(context, pod, { name }, 'Normal', 'Killing', kill.message ?? `Stopping container ${name}`)
  const begun = clock.now()
  const left = () => Math.max(MINIMUM_SECONDS, Math.ceil(graceSeconds - (clock.now() - begun) / 1000))
  const patience = deadline(clock, graceSeconds * 1000, hurry?.signal)
  try {
    if (container?.lifecycle?.preStop && graceSeconds > 0) await preStop(context, kill, container, patience.signal)
    if (waitForTurn && !patience.signal.aborted) await waitForTurn(patience.signal)
  } finally {
    patience[Symbol.dispose]()
  }
  await stopWithin(kill, hurry?.signal.aborted ? hurry.graceSeconds() : left(), (seconds) =>
    runtime.stopContainer(status.id, Math.max(MINIMUM_SECONDS, seconds)),
  )
}

/** If time is cut short while the container is being stopped, it is told again. */
async function stopWithin({ hurry }: Kill, seconds: number, stop: (seconds: number) => Promise<void>): Promise<void> {
  const first = stop(seconds)
  if (!hurry || hurry.signal.aborted) return first
  const linked = linkAbort(hurry.signal)
  let again: Promise<void> | undefined
  linked.signal.addEventListener('abort', () => {
    again = stop(hurry.graceSeconds())
    again.catch(() => {})
  })
  try {
    await first
    await again
  } finally {
    linked[Symbol.dispose]()
  }
}

async function preStop(
  context: WorkerContext,
  { pod, status, podIP }: Kill,
  container: Container,
  signal: AbortSignal,
) {
  const handler = container.lifecycle!.preStop!
  const ended = new Promise<void>((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
  const run = runHook(context, handler, container, status.id, podIP, signal).catch((error: unknown) => {
    if (signal.aborted) return
    context.log.debug('a preStop hook failed', { container: container.name, error: String(error) })
    recordContainer(context, pod, container, 'Warning', 'FailedPreStopHook', 'PreStopHook failed')
  })
  await Promise.race([run, ended])
}

/** How long a container may take to stop: its probe may know better than its pod when that is what kills it. */
export function killGrace(pod: Pod, container: Container, reason: string): number {
  const own = pod.metadata.deletionGracePeriodSeconds ?? pod.spec?.terminationGracePeriodSeconds ?? 30
  if (reason === 'LivenessProbe') return container.livenessProbe?.terminationGracePeriodSeconds ?? own
  if (reason === 'StartupProbe') return container.startupProbe?.terminationGracePeriodSeconds ?? own
  return own
}
