/** Other resources for a pod while it runs: first the node makes the promise, then the runtime is told (KEP-1287). */
import type { Container, Pod } from '../../api/generated/core-v1.ts'
import type { LinuxContainerResources } from '../../container-runtime/container-config.ts'
import { containersOf } from '../pod/allocation.ts'
import { latestOf, type RuntimeContainer, readySandbox } from '../pod/runtime-pod.ts'
import type { PodState } from './pod-state.ts'
import { containerResources, podResources } from './resources.ts'
import { podReference } from './worker-context.ts'

/** What cannot be had now is asked for again after this, or when a pod leaves the node. */
const RETRY = 10_000

/** Promises what the pod asks for, if the node has it. When to ask again is the answer. */
export function allocate(state: PodState): number | undefined {
  const { allocation, desired, context } = state
  if (!allocation.differsFrom(desired)) {
    allocation.pending = undefined
    return undefined
  }
  const refusal = context.admitResize(desired)
  if (!refusal) {
    allocation.pending = undefined
    allocation.inProgress = {}
    state.allocate()
    tell(state, 'Normal', 'ResizeStarted', 'Pod resize started')
    return undefined
  }
  if (allocation.pending?.reason !== refusal.reason) tell(state, 'Warning', `Resize${refusal.reason}`, refusal.message)
  allocation.pending = refusal
  return refusal.reason === 'Deferred' ? context.clock.now() + RETRY : undefined
}

/** Tells the runtime what has been promised. When to try again is the answer. */
export async function actuate(state: PodState): Promise<number | undefined> {
  const { allocation, context } = state
  try {
    await updateRunning(state)
  } catch (error) {
    const { message } = error as Error
    if (allocation.inProgress?.message !== message) tell(state, 'Warning', 'ResizeError', message)
    allocation.inProgress = { reason: 'Error', message }
    return context.clock.now() + RETRY
  }
  if (allocation.inProgress && resizes(state).length === 0) {
    allocation.inProgress = undefined
    tell(state, 'Normal', 'ResizeCompleted', 'Pod resize completed')
  }
  return undefined
}

interface Resize {
  readonly container: Container
  readonly running: RuntimeContainer
}

/** Containers that run with other resources than they should. */
function resizes({ pod, runtime, allocation }: PodState): Resize[] {
  return containersOf(pod).flatMap((container) => {
    const running = latestOf(runtime, container.name)
    return running?.state === 'RUNNING' && allocation.actual(container) !== container ? [{ container, running }] : []
  })
}

/** The limits of the pod are never below those of its containers, which the kernel would refuse. */
async function updateRunning(state: PodState): Promise<void> {
  const { pod, allocation, context, runtime: found } = state
  const { runtime } = context
  const sandbox = readySandbox(found)
  const changes = resizes(state).filter(({ container }) => !allocation.needsRestart(container))
  if (!sandbox || changes.length === 0) return
  const [before, after] = [podResources(actualPod(state)), podResources(pod)]
  await runtime.updatePodSandboxResources(sandbox.id, larger(before, after))
  for (const { container, running } of changes) {
    const resources = containerResources(pod, container, context.node())
    await refuseBelowUsage(state, running, resources)
    await runtime.updateContainerResources(running.id, resources)
    allocation.actuated(container)
  }
  await runtime.updatePodSandboxResources(sandbox.id, after)
}

/** The kernel would kill, where a refusal can be seen and undone. */
async function refuseBelowUsage(
  { context, allocation, pod }: PodState,
  { id, name }: RuntimeContainer,
  { memoryLimitBytes: limit }: LinuxContainerResources,
): Promise<void> {
  const container = containersOf(pod).find((one) => one.name === name)
  const before = container && containerResources(pod, allocation.actual(container), context.node()).memoryLimitBytes
  if (limit === undefined || (before !== undefined && before <= limit)) return
  const [stats] = await context.runtime.stats({ id })
  if (stats && stats.memoryWorkingSetBytes > limit)
    throw new Error(
      `attempting to set container memory limit (${limit}) below current usage (${stats.memoryWorkingSetBytes})`,
    )
}

function actualPod({ pod, allocation }: PodState): Pod {
  const { spec } = pod
  if (!spec) return pod
  const actual = (containers: Container[]) => containers.map((one) => allocation.actual(one))
  const initContainers = spec.initContainers && actual(spec.initContainers)
  return {
    ...pod,
    spec: { ...spec, containers: actual(spec.containers), ...(initContainers && { initContainers }) },
  }
}

/** No limit is the largest. */
function larger(a: LinuxContainerResources, b: LinuxContainerResources): LinuxContainerResources {
  const most = <K extends 'cpuShares' | 'cpuQuota' | 'memoryLimitBytes'>(name: K) =>
    a[name] === undefined || b[name] === undefined ? {} : { [name]: Math.max(a[name], b[name]) }
  const cpuPeriod = a.cpuPeriod ?? b.cpuPeriod
  return { ...most('cpuShares'), ...most('cpuQuota'), ...most('memoryLimitBytes'), ...(cpuPeriod && { cpuPeriod }) }
}

function tell({ context, pod }: PodState, type: 'Normal' | 'Warning', reason: string, message: string): void {
  context.events.event(podReference(pod), type, reason, message)
}
