import type { Container, ContainerState, ContainerStatus, Pod } from '../../../generated/core-v1.ts'
import { isConditionTrue } from '../../../meta/conditions.ts'

/** A pod in a few words, as `kubectl get pods` shows it. */
export interface PodSummary {
  readonly ready: number
  readonly total: number
  readonly reason: string
  readonly restarts: number
  readonly lastRestart: string | undefined
}

const isSidecar = (container: Container | undefined) => container?.restartPolicy === 'Always'

export function podSummary(pod: Pod): PodSummary {
  const initContainers = pod.spec?.initContainers ?? []
  const total = (pod.spec?.containers?.length ?? 0) + initContainers.filter(isSidecar).length
  const init = initProgress(pod)
  const initialized = init.reason === undefined || isConditionTrue(pod.status?.conditions, 'Initialized')
  const containers = initialized ? containerProgress(pod, init.reason ?? baseReason(pod)) : undefined
  const restarts = containers ? init.sidecarRestarts : init.restarts
  if (containers) restarts.add(containers.restarts)
  return {
    ready: init.ready + (containers?.ready ?? 0),
    total,
    reason: deletionReason(pod) ?? containers?.reason ?? init.reason ?? baseReason(pod),
    restarts: restarts.count,
    lastRestart: restarts.last,
  }
}

function baseReason(pod: Pod): string {
  const gated = pod.status?.conditions?.some((c) => c.type === 'PodScheduled' && c.reason === 'SchedulingGated')
  return gated ? 'SchedulingGated' : pod.status?.reason || pod.status?.phase || ''
}

function deletionReason(pod: Pod): string | undefined {
  if (pod.metadata.deletionTimestamp === undefined) return undefined
  if (pod.status?.reason === 'NodeLost') return 'Unknown'
  const phase = pod.status?.phase
  return phase === 'Succeeded' || phase === 'Failed' ? undefined : 'Terminating'
}

class Restarts {
  count = 0
  last: string | undefined

  addStatus(status: ContainerStatus): void {
    this.count += status.restartCount ?? 0
    this.#seen(status.lastState?.terminated?.finishedAt)
  }

  add(other: Restarts): void {
    this.count += other.count
    this.#seen(other.last)
  }

  // Times of the API have one form, in which the order of texts is the order of times.
  #seen(time: string | undefined): void {
    if (time !== undefined && (this.last === undefined || time > this.last)) this.last = time
  }
}

interface InitProgress {
  /** What the first unfinished init container does; undefined when none holds the pod up. */
  reason: string | undefined
  ready: number
  restarts: Restarts
  sidecarRestarts: Restarts
}

function initProgress(pod: Pod): InitProgress {
  const containers = pod.spec?.initContainers ?? []
  const progress: InitProgress = {
    reason: undefined,
    ready: 0,
    restarts: new Restarts(),
    sidecarRestarts: new Restarts(),
  }
  const byName = new Map(containers.map((container) => [container.name, container]))
  const statuses = pod.status?.initContainerStatuses ?? []
  for (const [i, status] of statuses.entries()) {
    const sidecar = isSidecar(byName.get(status.name))
    progress.restarts.addStatus(status)
    if (sidecar) progress.sidecarRestarts.addStatus(status)
    if (status.state?.terminated?.exitCode === 0) continue
    if (sidecar && status.started) {
      if (status.ready) progress.ready++
      continue
    }
    progress.reason = `Init:${initReason(status.state) ?? `${i}/${containers.length}`}`
    break
  }
  return progress
}

function initReason(state: ContainerState | undefined): string | undefined {
  if (state?.terminated) return terminatedReason(state.terminated)
  const waiting = state?.waiting?.reason
  return waiting && waiting !== 'PodInitializing' ? waiting : undefined
}

const terminatedReason = (terminated: NonNullable<ContainerState['terminated']>) =>
  terminated.reason || (terminated.signal ? `Signal:${terminated.signal}` : `ExitCode:${terminated.exitCode ?? 0}`)

/** The first container that has something to say is heard; so they are asked from the last. */
function containerProgress(pod: Pod, before: string): { ready: number; reason: string; restarts: Restarts } {
  const restarts = new Restarts()
  let reason = before
  let ready = 0
  let running = false
  let failure = ''
  for (const status of (pod.status?.containerStatuses ?? []).toReversed()) {
    restarts.addStatus(status)
    const { state } = status
    if (state?.waiting?.reason) reason = state.waiting.reason
    else if (state?.terminated) {
      reason = terminatedReason(state.terminated)
      if (state.terminated.exitCode) failure = reason
    } else if (status.ready && state?.running) {
      running = true
      ready++
    }
  }
  if (reason === 'Completed') reason = completedReason(pod, running, failure)
  return { ready, reason, restarts }
}

/** One container is done, but that need not be true of the pod. */
function completedReason(pod: Pod, running: boolean, failure: string): string {
  if (running && isConditionTrue(pod.status?.conditions, 'Ready')) return 'Running'
  if (failure) return failure
  return running ? 'NotReady' : 'Completed'
}
