import type { Container, EphemeralContainer, Pod } from '../../api/generated/core-v1.ts'
import { isSidecar } from '../../api/kinds/core/pod/resources.ts'
import { restartsAfter, restartsOnFailure } from './restart-policy.ts'
import { CONTAINER_HASH, containerHash } from './runtime-labels.ts'
import { latestOf, type RuntimeContainer, type RuntimePod } from './runtime-pod.ts'

export type ProbeVerdict = 'Success' | 'Failure' | undefined

/** What the probes of a container say; undefined before they said anything, or where there is none. */
export interface ProbeVerdicts {
  liveness(containerId: string): ProbeVerdict
  startup(containerId: string): ProbeVerdict
  /** The resources it should have are had only by a new start. */
  mustRestart?(container: Container): boolean
}

export type KillReason = 'LivenessProbe' | 'StartupProbe' | 'Changed' | 'Resized' | 'Unknown'

export interface ContainerKill {
  readonly container: Container
  readonly status: RuntimeContainer
  readonly reason: KillReason
  readonly message: string
}

/** What has to be done next for a pod to be as it should; computed from scratch each time. */
export interface PodActions {
  /** Everything of the pod is to be stopped: it has ended, or its sandbox has to be made anew. */
  readonly killPod: boolean
  readonly createSandbox: boolean
  /** The number of the sandbox to be made. */
  readonly attempt: number
  readonly sandboxId: string | undefined
  readonly kill: readonly ContainerKill[]
  readonly startEphemeral: readonly EphemeralContainer[]
  readonly startInit: readonly Container[]
  readonly start: readonly Container[]
}

export function podActions(pod: Pod, runtime: RuntimePod, probes: ProbeVerdicts): PodActions {
  const sandbox = sandboxState(pod, runtime)
  if (sandbox.isNeeded) return newSandboxActions(pod, runtime, sandbox.attempt)
  return runningActions(pod, runtime, sandbox.id, probes)
}

interface SandboxState {
  readonly isNeeded: boolean
  readonly attempt: number
  readonly id: string | undefined
}

function sandboxState(pod: Pod, { sandboxes }: RuntimePod): SandboxState {
  const [newest] = sandboxes
  if (!newest) return { isNeeded: true, attempt: 0, id: undefined }
  const again = { isNeeded: true, attempt: newest.metadata.attempt + 1, id: newest.id }
  if (newest.state !== 'READY' || sandboxes.filter(({ state }) => state === 'READY').length > 1) return again
  if (!pod.spec?.hostNetwork && newest.ips.length === 0) return again
  return { isNeeded: false, attempt: newest.metadata.attempt, id: newest.id }
}

const NOTHING = { kill: [], startEphemeral: [], startInit: [], start: [] } as const

function newSandboxActions(pod: Pod, runtime: RuntimePod, attempt: number): PodActions {
  const none: PodActions = { ...NOTHING, killPod: true, createSandbox: false, attempt, sandboxId: undefined }
  // A pod that must not be restarted has ended with its sandbox.
  if (attempt > 0 && !restartsOnFailure(pod) && runtime.containers.length > 0) return none
  const start = (pod.spec?.containers ?? []).filter((container) => isWanted(pod, container, runtime))
  if (start.length === 0) return none
  const actions: PodActions = { ...none, createSandbox: true }
  const first = pod.spec?.initContainers?.[0]
  return first ? { ...actions, startInit: [first] } : { ...actions, start }
}

function isWanted(pod: Pod, container: Container, runtime: RuntimePod): boolean {
  const status = latestOf(runtime, container.name)
  return status?.state !== 'EXITED' || restartsAfter(pod, container, { exitCode: status.exitCode ?? 0 })
}

function runningActions(pod: Pod, runtime: RuntimePod, sandboxId: string | undefined, probes: ProbeVerdicts) {
  const { attempt } = runtime.sandboxes[0]!.metadata
  const inSandbox = { ...runtime, containers: runtime.containers.filter((one) => one.sandboxId === sandboxId) }
  const base: PodActions = { ...NOTHING, killPod: false, createSandbox: false, attempt, sandboxId }
  const startEphemeral = (pod.spec?.ephemeralContainers ?? []).filter(({ name }) => !latestOf(runtime, name))
  const init = initActions(pod, inSandbox, probes)
  if (init.hasFailed) return { ...base, killPod: true }
  if (!init.isDone) return { ...base, startEphemeral, startInit: init.start, kill: init.kill }
  const app = appActions(pod, runtime, sandboxId, probes)
  // Sidecars live for the others: with nothing else left, all end.
  if (app.kept === 0 && app.start.length === 0) return { ...base, killPod: true }
  return { ...base, startEphemeral, startInit: init.start, start: app.start, kill: [...init.kill, ...app.kill] }
}

interface InitActions {
  readonly isDone: boolean
  readonly hasFailed: boolean
  readonly start: readonly Container[]
  readonly kill: readonly ContainerKill[]
}

/** Init containers run one after the other; a sidecar lets the next one go as soon as it has started. */
function initActions(pod: Pod, runtime: RuntimePod, probes: ProbeVerdicts): InitActions {
  const start: Container[] = []
  const kill: ContainerKill[] = []
  const wasDone = (pod.spec?.containers ?? []).some(({ name }) => latestOf(runtime, name))
  for (const container of pod.spec?.initContainers ?? []) {
    const status = latestOf(runtime, container.name)
    if (isSidecar(container)) {
      const isUp = stepSidecar(container, status, probes, start, kill)
      if (!isUp && !wasDone) return { isDone: false, hasFailed: false, start, kill }
      continue
    }
    if (wasDone || (status?.state === 'EXITED' && status.exitCode === 0)) continue
    if (status?.state === 'RUNNING') return { isDone: false, hasFailed: false, start, kill }
    if (status?.state === 'EXITED' && !restartsAfter(pod, container, { exitCode: status.exitCode ?? 1 }, true))
      return { isDone: false, hasFailed: true, start, kill }
    return { isDone: false, hasFailed: false, start: [...start, container], kill }
  }
  return { isDone: true, hasFailed: false, start, kill }
}

/** Whether it has started; what it needs is added to the lists. */
function stepSidecar(
  container: Container,
  status: RuntimeContainer | undefined,
  probes: ProbeVerdicts,
  start: Container[],
  kill: ContainerKill[],
): boolean {
  if (status?.state !== 'RUNNING') {
    start.push(container)
    return false
  }
  const reason = killReason(container, status, probes)
  if (reason) {
    kill.push({ container, status, reason, message: killMessage(container, reason, true) })
    start.push(container)
    return false
  }
  return !container.startupProbe || probes.startup(status.id) === 'Success'
}

interface AppActions {
  readonly kept: number
  readonly start: readonly Container[]
  readonly kill: readonly ContainerKill[]
}

function appActions(pod: Pod, runtime: RuntimePod, sandboxId: string | undefined, probes: ProbeVerdicts): AppActions {
  const start: Container[] = []
  const kill: ContainerKill[] = []
  let kept = 0
  for (const container of pod.spec?.containers ?? []) {
    const status = latestOf(runtime, container.name)
    if (status?.state !== 'RUNNING' || status.sandboxId !== sandboxId) {
      if (isWanted(pod, container, runtime)) start.push(container)
      continue
    }
    const reason = killReason(container, status, probes)
    if (!reason) {
      kept++
      continue
    }
    const restarts = reason === 'Changed' || reason === 'Resized' || restartsAfter(pod, container, { exitCode: 137 })
    kill.push({ container, status, reason, message: killMessage(container, reason, restarts) })
    if (restarts) start.push(container)
  }
  return { kept, start, kill }
}

function killReason(container: Container, status: RuntimeContainer, probes: ProbeVerdicts): KillReason | undefined {
  const hash = status.annotations[CONTAINER_HASH]
  if (hash !== undefined && hash !== containerHash(container)) return 'Changed'
  if (probes.mustRestart?.(container)) return 'Resized'
  if (probes.liveness(status.id) === 'Failure') return 'LivenessProbe'
  return probes.startup(status.id) === 'Failure' ? 'StartupProbe' : undefined
}

const KILL_TEXTS: Record<KillReason, string> = {
  Changed: 'definition changed',
  LivenessProbe: 'failed liveness probe',
  StartupProbe: 'failed startup probe',
  Resized: 'resize requires restart',
  Unknown: 'is in unknown state, try killing it before restart',
}

const killMessage = ({ name }: Container, reason: KillReason, restarts: boolean) =>
  `Container ${name} ${KILL_TEXTS[reason]}${restarts ? ', will be restarted' : ''}`
