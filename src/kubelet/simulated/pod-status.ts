import type { Container, ContainerStatus, Pod, PodCondition, PodStatus } from '../../api/generated/core-v1.ts'
import { formatTime, parseTime } from '../../api/meta/time.ts'
import { copyWith } from '../../base/copy-with.ts'
import { podConditions } from '../status/pod-conditions.ts'
import { isTerminalPhase, podPhase } from '../status/pod-phase.ts'
import { type ContainerInput, type ContainerStep, stepContainer, stopContainer } from './container-status.ts'
import { podFailure, programOf } from './program.ts'

/** Where a pod runs. */
export interface PodPlace {
  readonly hostIP: string
  readonly podIPs: readonly string[]
}

export interface PodStep {
  /** The same object as before if nothing changed. */
  readonly status: PodStatus
  readonly wakeAt: number | undefined
}

/** The exit code of a process that was told to stop. */
const SIGTERM_EXIT = 143

export const isTerminal = (pod: Pod) => isTerminalPhase(pod.status?.phase)

/** Moves a pod on to where it is at `now`: pure, from what its status says it was doing. */
export function stepPod(pod: Pod, place: PodPlace, now: number): PodStep {
  const failure = podFailure(pod)
  if (failure !== undefined) return { status: failedStatus(pod, place, now, failure), wakeAt: undefined }
  const deadline = activeDeadline(pod, now)
  if (deadline !== undefined && deadline <= now) {
    const message = 'Pod was active on the node longer than the specified deadline'
    return { status: failedStatus(pod, place, now, 'DeadlineExceeded', message), wakeAt: undefined }
  }
  const started = pod.status?.startTime
    ? pod
    : { ...pod, status: copyWith(pod.status ?? {}, { startTime: formatTime(now) }) }
  const steps = stepContainers(started, now)
  const containers = steps.containers.map(statusOf)
  const phase = podPhase({ pod, init: steps.init.map(statusOf), containers, isStopped: false })
  const isOver = isTerminalPhase(phase)
  const init = steps.init.map(({ status }) => (isOver ? stopContainer(status, 0, now) : status))
  let wakeAt = deadline ?? Number.POSITIVE_INFINITY
  for (const step of [...steps.init, ...steps.containers]) wakeAt = Math.min(wakeAt, step.wakeAt ?? wakeAt)
  const status = assemble(started, place, phase, init, containers, now)
  return { status, wakeAt: isOver || !Number.isFinite(wakeAt) ? undefined : wakeAt }
}

const statusOf = ({ status }: ContainerStep) => status

function activeDeadline({ spec, status }: Pod, now: number): number | undefined {
  if (spec?.activeDeadlineSeconds === undefined) return undefined
  return (parseTime(status?.startTime ?? '') ?? now) + spec.activeDeadlineSeconds * 1000
}

function stepContainers(pod: Pod, now: number): { init: ContainerStep[]; containers: ContainerStep[] } {
  const known = byName([...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])])
  const policy = (pod.spec?.restartPolicy ?? 'Always') as ContainerInput['restarts']
  const step = (
    container: Container,
    isInit: boolean,
    mayStart: boolean,
    waitingReason: ContainerInput['waitingReason'],
  ) =>
    stepContainer({
      pod,
      container,
      program: programOf(pod, container, isInit),
      known: known.get(container.name),
      mayStart,
      waitingReason,
      restarts: (container.restartPolicy as typeof policy) ?? (isInit && policy === 'Always' ? 'OnFailure' : policy),
      now,
    })
  let mayStart = true
  const init: ContainerStep[] = []
  for (const container of pod.spec?.initContainers ?? []) {
    const next = step(container, true, mayStart, 'PodInitializing')
    init.push(next)
    mayStart &&= isDone(container, next.status)
  }
  const waitingReason = init.length > 0 ? 'PodInitializing' : 'ContainerCreating'
  const containers = (pod.spec?.containers ?? []).map((container) => step(container, false, mayStart, waitingReason))
  return { init, containers }
}

/** A sidecar lets the next one start once it has started, any other init container once it has succeeded. */
function isDone(container: Container, { state, started }: ContainerStatus): boolean {
  return container.restartPolicy === 'Always' ? started === true : state?.terminated?.exitCode === 0
}

function byName(statuses: readonly ContainerStatus[]): Map<string, ContainerStatus> {
  return new Map(statuses.map((status) => [status.name, status]))
}

/** The pod after it was told to stop: nothing runs any more. */
export function stoppedStatus(pod: Pod, now: number): PodStatus {
  const { status = {} } = pod
  const stop = (one: ContainerStatus) => stopContainer(one, SIGTERM_EXIT, now)
  const init = (status.initContainerStatuses ?? []).map(stop)
  const containers = (status.containerStatuses ?? []).map(stop)
  const succeeded = containers.length > 0 && containers.every(({ state }) => state?.terminated?.exitCode === 0)
  const place = { hostIP: status.hostIP ?? '', podIPs: status.podIPs?.map(({ ip }) => ip) ?? [] }
  return assemble(pod, place, succeeded ? 'Succeeded' : 'Failed', init, containers, now)
}

function failedStatus(pod: Pod, place: PodPlace, now: number, reason: string, message?: string): PodStatus {
  const stopped = stoppedStatus(pod, now)
  const startTime = pod.status?.startTime ?? formatTime(now)
  return {
    ...stopped,
    ...addresses(place),
    phase: 'Failed',
    startTime,
    reason,
    message: message ?? `The simulated pod failed: ${reason}`,
  }
}

function addresses({ hostIP, podIPs }: PodPlace): Pick<PodStatus, 'hostIP' | 'hostIPs' | 'podIP' | 'podIPs'> {
  return {
    ...(hostIP && { hostIP, hostIPs: [{ ip: hostIP }] }),
    ...(podIPs[0] !== undefined && { podIP: podIPs[0], podIPs: podIPs.map((ip) => ({ ip })) }),
  }
}

function assemble(
  pod: Pod,
  place: PodPlace,
  phase: string,
  init: readonly ContainerStatus[],
  containers: readonly ContainerStatus[],
  now: number,
): PodStatus {
  const { generation } = pod.metadata
  return Object.assign(
    {},
    pod.status,
    generation !== undefined && { observedGeneration: generation },
    { phase, conditions: conditionsOf(pod, phase, init, containers, now) },
    addresses(place),
    init.length > 0 && { initContainerStatuses: [...init] },
    containers.length > 0 && { containerStatuses: [...containers] },
  )
}

function conditionsOf(
  pod: Pod,
  phase: string,
  init: readonly ContainerStatus[],
  containers: readonly ContainerStatus[],
  now: number,
): PodCondition[] {
  const previous = pod.status?.conditions ?? []
  const hasSandbox = !isTerminalPhase(phase)
  return podConditions({ pod, phase, init, containers, hasSandbox, previous, now: formatTime(now) })
}
