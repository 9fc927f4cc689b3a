import type { Container, ContainerStatus, Pod, PodCondition, PodStatus } from '../../api/generated/core-v1.ts'
import { qosClass } from '../../api/kinds/core/pod/qos.ts'
import { isSidecar } from '../../api/kinds/core/pod/resources.ts'
import { formatTime } from '../../api/meta/time.ts'
import type { PodAllocation } from '../pod/allocation.ts'
import { restartsAfter } from '../pod/restart-policy.ts'
import { hasRunning, historyOf, type RuntimePod, readySandbox } from '../pod/runtime-pod.ts'
import { containerStatus, unknownEnd, type WaitingReason } from './container-status.ts'
import { podConditions, RESIZE_CONDITIONS } from './pod-conditions.ts'
import { isTerminalPhase, podPhase } from './pod-phase.ts'

/** What probes found; undefined: there is no such probe for the container. */
export interface ProbeStates {
  startup(containerId: string): boolean | undefined
  readiness(containerId: string): boolean | undefined
}

export interface StatusInput {
  readonly pod: Pod
  /** The last status this kubelet made, or the one in the API. */
  readonly previous: PodStatus
  readonly runtime: RuntimePod
  readonly runtimeName: string
  readonly failures: ReadonlyMap<string, WaitingReason>
  readonly allocation: Pick<PodAllocation, 'actual' | 'pending' | 'inProgress'>
  readonly probes: ProbeStates
  readonly hostIPs: readonly string[]
  readonly now: number
  /** Everything was stopped and nothing will be started again. */
  readonly isStopped: boolean
  /** The node is about to end it, until its own next start. */
  readonly isWithdrawn: boolean
  /** The pod as a whole failed, or is about to: evicted, past its deadline, not admitted. */
  readonly failure?: { readonly reason: string; readonly message: string }
}

export interface PodReport {
  readonly status: PodStatus
  /** The pod's work is over, though something of it may still have to be stopped. */
  readonly isOver: boolean
}

export function podStatus(input: StatusInput): PodReport {
  const { pod, previous, runtime, now } = input
  const init = statusesOf(input, pod.spec?.initContainers ?? [], true)
  const containers = statusesOf(input, pod.spec?.containers ?? [], false)
  const phase = input.failure ? 'Failed' : podPhase({ pod, init, containers, isStopped: input.isStopped })
  const isOver = isTerminalPhase(phase)
  // A pod is not over for others as long as something of it could still run.
  const told = isTerminalPhase(previous.phase)
    ? previous.phase!
    : isOver && (hasRunning(runtime) || (!input.isStopped && readySandbox(runtime)))
      ? (previous.phase ?? 'Pending')
      : phase
  const isTold = isTerminalPhase(told)
  const hasSandbox = hasUsableSandbox(pod, runtime)
  const conditions = podConditions({
    pod,
    phase: told,
    init,
    containers,
    hasSandbox,
    previous: mergedConditions(input),
    resize: input.allocation,
    now: formatTime(now),
  })
  const ephemeral = statusesOf(input, (pod.spec?.ephemeralContainers ?? []) as Container[], false)
  const status: PodStatus = {
    ...(pod.metadata.generation !== undefined && { observedGeneration: pod.metadata.generation }),
    phase: told,
    ...failureOf(input, isTold),
    conditions: withDisruption(conditions, input),
    ...addressesOf(input),
    startTime: previous.startTime ?? formatTime(now),
    ...(init.length > 0 && { initContainerStatuses: init }),
    ...(containers.length > 0 && { containerStatuses: containers }),
    ...(ephemeral.length > 0 && { ephemeralContainerStatuses: ephemeral }),
    qosClass: pod.status?.qosClass ?? (pod.spec ? qosClass(pod.spec) : 'BestEffort'),
    ...keptOf(pod.status),
  }
  return { status, isOver }
}

/** Others may count a pod that was evicted differently from one that failed by itself. */
function withDisruption(conditions: PodCondition[], { failure, pod, now }: StatusInput): PodCondition[] {
  if (failure?.reason !== 'Evicted') return conditions
  const type = 'DisruptionTarget'
  const known = conditions.find((one) => one.type === type)
  if (known?.status === 'True') return conditions
  const { generation } = pod.metadata
  const condition: PodCondition = {
    type,
    status: 'True',
    reason: 'TerminationByKubelet',
    message: failure.message,
    lastTransitionTime: formatTime(now),
    ...(generation !== undefined && { observedGeneration: generation }),
  }
  return [...conditions.filter((one) => one !== known), condition]
}

/** Conditions that others own come from the API, ours from what we said last. */
function mergedConditions({ pod, previous }: StatusInput) {
  const own = previous.conditions ?? []
  const others = (pod.status?.conditions ?? []).filter(
    ({ type }) => !own.some((one) => one.type === type && isOwn(type)),
  )
  return [...own.filter(({ type }) => isOwn(type)), ...others]
}

const OWN = new Set([
  'DisruptionTarget',
  'PodReadyToStartContainers',
  'Initialized',
  'Ready',
  'ContainersReady',
  'PodScheduled',
  ...RESIZE_CONDITIONS,
])
const isOwn = (type: string) => OWN.has(type)

function failureOf({ failure, previous }: StatusInput, isTold: boolean): Pick<PodStatus, 'reason' | 'message'> {
  if (isTerminalPhase(previous.phase)) {
    const { reason, message } = previous
    return { ...(reason && { reason }), ...(message && { message }) }
  }
  return failure && isTold ? { reason: failure.reason, message: failure.message } : {}
}

/** Fields of the status that are not the kubelet's. */
function keptOf(status: PodStatus | undefined): PodStatus {
  const { nominatedNodeName, resourceClaimStatuses, extendedResourceClaimStatus } = status ?? {}
  return {
    ...(nominatedNodeName && { nominatedNodeName }),
    ...(resourceClaimStatuses && { resourceClaimStatuses }),
    ...(extendedResourceClaimStatus && { extendedResourceClaimStatus }),
  }
}

function hasUsableSandbox(pod: Pod, runtime: RuntimePod): boolean {
  const sandbox = readySandbox(runtime)
  return sandbox !== undefined && (pod.spec?.hostNetwork === true || sandbox.ips.length > 0)
}

function addressesOf(input: StatusInput): Pick<PodStatus, 'hostIP' | 'hostIPs' | 'podIP' | 'podIPs'> {
  const { pod, runtime, hostIPs, previous } = input
  const known = previous.podIPs?.map(({ ip }) => ip) ?? []
  const sandbox = readySandbox(runtime)
  const own = pod.spec?.hostNetwork ? (sandbox || known.length > 0 ? hostIPs : []) : (sandbox?.ips ?? [])
  // The address stays in the status after the end, as the last one the pod had.
  const podIPs = own.length > 0 ? own : known
  return {
    ...(hostIPs[0] !== undefined && { hostIP: hostIPs[0], hostIPs: hostIPs.map((ip) => ({ ip })) }),
    ...(podIPs[0] !== undefined && { podIP: podIPs[0], podIPs: podIPs.map((ip) => ({ ip })) }),
  }
}

function statusesOf(input: StatusInput, list: readonly Container[], isInit: boolean): ContainerStatus[] {
  const { pod, previous, runtime, failures } = input
  const before = [
    ...(previous.initContainerStatuses ?? []),
    ...(previous.containerStatuses ?? []),
    ...(previous.ephemeralContainerStatuses ?? []),
  ]
  const waiting = (pod.spec?.initContainers?.length ?? 0) > 0 ? 'PodInitializing' : 'ContainerCreating'
  return list.map((container) => {
    const history = historyOf(runtime, container.name)
    const exitCode = history[0]?.exitCode ?? 0
    const status = containerStatus({
      container,
      actual: input.allocation.actual(container),
      history,
      previous: before.find(({ name }) => name === container.name),
      runtimeName: input.runtimeName,
      waiting,
      failure: input.isStopped ? undefined : failures.get(container.name),
      restarts: !input.isStopped && restartsAfter(pod, container, { exitCode }, isInit),
    })
    return withProbes(input, container, input.isStopped ? ended(status) : status, history[0]?.id, isInit)
  })
}

/** Nothing runs any more: what was running when it was last seen ended somehow. */
function ended(status: ContainerStatus): ContainerStatus {
  const { state, lastState, containerID } = status
  if (state?.terminated) return status
  if (state?.waiting && lastState?.terminated) return { ...status, state: { terminated: lastState.terminated } }
  return state?.running ? { ...status, state: { terminated: unknownEnd(containerID) } } : status
}

function withProbes(
  { probes, isWithdrawn }: StatusInput,
  container: Container,
  status: ContainerStatus,
  id: string | undefined,
  isInit: boolean,
): ContainerStatus {
  const isRunning = status.state?.running !== undefined
  const started = isRunning && (probes.startup(id ?? '') ?? true)
  if (isInit && !isSidecar(container)) return { ...status, started, ready: status.state?.terminated?.exitCode === 0 }
  return { ...status, started, ready: started && !isWithdrawn && (probes.readiness(id ?? '') ?? true) }
}
