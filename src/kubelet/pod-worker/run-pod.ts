import type { Container } from '../../api/generated/core-v1.ts'
import { runtimeClassKind } from '../../api/kinds/node/runtime-class.ts'
import { ApiError } from '../../api/meta/api-error.ts'
import { type PodActions, podActions } from '../pod/pod-actions.ts'
import { historyOf, readySandbox } from '../pod/runtime-pod.ts'
import { VolumeError } from '../volumes/pod-volumes.ts'
import { killContainer, killGrace } from './kill-container.ts'
import type { PodState } from './pod-state.ts'
import { sandboxConfig } from './sandbox-config.ts'
import { StartFailure, startContainer } from './start-container.ts'
import { PodStop } from './stop-pod.ts'
import { podReference } from './worker-context.ts'

/** A container that could not be started is tried again after this, unless it knows better. */
const RETRY = 10_000
/** Of each container the newest is kept, and the one before it for those who ask why. */
const KEPT = 2

export interface RunOutcome {
  /** Nothing is left to run. */
  readonly isOver: boolean
  readonly wakeAt: number | undefined
}

/** Brings a pod one step nearer to what it should be. */
export async function runPod(state: PodState, signal: AbortSignal): Promise<RunOutcome> {
  const mustRestart = (container: Container) => state.allocation.needsRestart(container)
  const actions = podActions(state.pod, state.runtime, { ...state.probes.verdicts, mustRestart })
  if (actions.killPod && !actions.createSandbox) return { isOver: true, wakeAt: undefined }
  if (actions.createSandbox && actions.attempt > 0) await stopOldSandboxes(state)
  if (needsVolumes(actions)) await mountVolumes(state)
  if (actions.createSandbox) await createSandbox(state, actions.attempt)
  for (const kill of actions.kill) {
    const { pod, context } = state
    const graceSeconds = killGrace(pod, kill.container, kill.reason)
    await killContainer(context, { pod, ...kill, podIP: podIPsOf(state)[0] ?? '', graceSeconds })
  }
  if (actions.kill.length > 0) await state.refresh()
  const wakes: number[] = []
  const all = [...(actions.startEphemeral as readonly Container[]), ...actions.startInit, ...actions.start]
  for (const container of all) {
    if (signal.aborted) break
    const retryAt = await start(state, container, actions.attempt, signal)
    if (retryAt !== undefined) wakes.push(retryAt)
  }
  await removeDead(state)
  return { isOver: false, wakeAt: wakes.length === 0 ? undefined : Math.min(...wakes) }
}

const needsVolumes = ({ createSandbox, startEphemeral, startInit, start }: PodActions) =>
  createSandbox || startEphemeral.length + startInit.length + start.length > 0

export async function mountVolumes(state: PodState): Promise<void> {
  try {
    await state.volumes.mountAll(state.pod)
  } catch (error) {
    if (error instanceof VolumeError)
      state.context.events.event(podReference(state.pod), 'Warning', 'FailedMount', error.message)
    throw error
  }
}

async function stopOldSandboxes(state: PodState): Promise<void> {
  const { context, pod } = state
  context.events.event(
    podReference(pod),
    'Normal',
    'SandboxChanged',
    'Pod sandbox changed, it will be killed and re-created.',
  )
  const stop = new PodStop(context)
  stop.limit(pod.spec?.terminationGracePeriodSeconds ?? 30)
  await stop.run(pod, state.runtime)
  // Init containers run again in the new sandbox, as if they never had.
  for (const { name } of pod.spec?.initContainers ?? [])
    for (const { id } of historyOf(state.runtime, name)) await context.runtime.removeContainer(id)
  await state.refresh()
}

async function createSandbox(state: PodState, attempt: number): Promise<void> {
  const { context, pod } = state
  try {
    await context.runtime.runPodSandbox(sandboxConfig(pod, attempt, context, await runtimeHandler(state)))
  } catch (error) {
    const message = `Failed to create pod sandbox: ${(error as Error).message}`
    context.events.event(podReference(pod), 'Warning', 'FailedCreatePodSandBox', message)
    throw error
  }
  await state.refresh()
  state.report()
}

/** The runtime's own word for the class that the pod asks for. */
async function runtimeHandler({ pod, context }: PodState): Promise<string> {
  const name = pod.spec?.runtimeClassName
  if (!name) return ''
  const found = await context.client
    .resource(runtimeClassKind)
    .get(name)
    .catch((error: unknown) => {
      if (error instanceof ApiError && error.code === 404) throw new Error(`RuntimeClass "${name}" not found`)
      throw error
    })
  return found.handler
}

function podIPsOf({ pod, runtime, context }: PodState): readonly string[] {
  return pod.spec?.hostNetwork ? context.hostIPs() : (readySandbox(runtime)?.ips ?? [])
}

/** When to try again, if it could not be started. */
async function start(state: PodState, container: Container, attempt: number, signal: AbortSignal) {
  const { context, pod, runtime } = state
  const sandboxId = readySandbox(runtime)?.id
  if (sandboxId === undefined) return context.clock.now()
  const known = [...(state.status.initContainerStatuses ?? []), ...(state.status.containerStatuses ?? [])].find(
    ({ name, containerID }) => name === container.name && containerID !== undefined,
  )
  try {
    await startContainer(context, {
      pod,
      container,
      runtime,
      sandboxId,
      sandbox: sandboxConfig(pod, attempt, context),
      podIPs: podIPsOf(state),
      volumes: state.volumes.mounted,
      knownRestarts: known?.restartCount,
      signal,
    })
    state.failures.delete(container.name)
    state.allocation.actuated(container)
    return undefined
  } catch (error) {
    if (!(error instanceof StartFailure)) throw error
    state.failures.set(container.name, { reason: error.reason, message: error.message })
    return error.retryAt ?? context.clock.now() + RETRY
  }
}

/** Old containers go, and sandboxes that nothing is left of. */
async function removeDead(state: PodState): Promise<void> {
  const { runtime, context } = state
  const names = new Set(runtime.containers.map(({ name }) => name))
  for (const name of names)
    for (const { id, state: is } of historyOf(runtime, name).slice(KEPT))
      if (is !== 'RUNNING') await context.runtime.removeContainer(id)
  const [, ...older] = runtime.sandboxes
  for (const sandbox of older) {
    const isUsed = runtime.containers.some(({ sandboxId }) => sandboxId === sandbox.id)
    if (sandbox.state !== 'READY' && !isUsed) await context.runtime.removePodSandbox(sandbox.id)
  }
}
