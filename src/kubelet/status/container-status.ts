import type {
  Container,
  ContainerState,
  ContainerStateTerminated,
  ContainerStatus,
} from '../../api/generated/core-v1.ts'
import { formatTime } from '../../api/meta/time.ts'
import type { RuntimeContainer } from '../pod/runtime-pod.ts'

/** Why a container does not run, as the last attempt to start it told. */
export interface WaitingReason {
  readonly reason: string
  readonly message: string
}

export interface ContainerView {
  readonly container: Container
  /** With the resources that it runs with. */
  readonly actual?: Container
  /** The runtime's containers of this name, the newest first. */
  readonly history: readonly RuntimeContainer[]
  readonly previous: ContainerStatus | undefined
  readonly runtimeName: string
  /** While nothing else is known. */
  readonly waiting: string
  readonly failure: WaitingReason | undefined
  /** It has ended and will be started again. */
  readonly restarts: boolean
}

/** A container's status without `ready` and `started`, which the probes know. */
export function containerStatus(view: ContainerView): ContainerStatus {
  const { container, history, previous, waiting } = view
  const [latest, before] = history
  if (!latest) return vanished(view)
  const state = stateOf(latest, view)
  const status: ContainerStatus = {
    name: container.name,
    state,
    lastState: before ? endedState(before, view) : (previous?.lastState ?? {}),
    ready: false,
    restartCount: latest.attempt,
    image: latest.image,
    imageID: latest.imageId,
    containerID: `${view.runtimeName}://${latest.id}`,
    ...resourcesOf(container, latest.state === 'RUNNING' ? view.actual : container),
    ...mountsOf(container),
    ...(latest.user && {
      user: { linux: { ...latest.user, supplementalGroups: [...latest.user.supplementalGroups] } },
    }),
  }
  if (latest.state === 'CREATED' && !view.failure) return { ...status, state: { waiting: { reason: waiting } } }
  return withFailure(status, view)
}

/** A container that will be started again and could not be yet is waiting; how it ended moves to `lastState`. */
function withFailure(status: ContainerStatus, { failure, restarts }: ContainerView): ContainerStatus {
  if (!failure || status.state?.running || (status.state?.terminated && !restarts)) return status
  const { reason, message } = failure
  const lastState = status.state?.terminated ? { terminated: status.state.terminated } : status.lastState
  return { ...status, lastState: lastState ?? {}, state: { waiting: { reason, ...(message && { message }) } } }
}

/** Nothing in the runtime: it has not been made yet, or somebody took it away. */
function vanished(view: ContainerView): ContainerStatus {
  const { container, previous, waiting } = view
  const base: ContainerStatus = {
    name: container.name,
    state: { waiting: { reason: waiting } },
    lastState: previous?.lastState ?? {},
    ready: false,
    restartCount: previous?.restartCount ?? 0,
    image: container.image ?? '',
    imageID: '',
    ...resourcesOf(container),
    ...mountsOf(container),
  }
  if (previous?.state?.terminated && !view.failure) return { ...previous, ready: false }
  if (previous?.state?.running) return { ...base, lastState: { terminated: unknownEnd(previous.containerID) } }
  return withFailure(base, view)
}

export function unknownEnd(containerID?: string): ContainerStateTerminated {
  return {
    exitCode: 137,
    reason: 'ContainerStatusUnknown',
    message: 'The container could not be located when the pod was terminated',
    ...(containerID && { containerID }),
  }
}

function stateOf(latest: RuntimeContainer, view: ContainerView): ContainerState {
  if (latest.state === 'RUNNING') return { running: { startedAt: formatTime(latest.startedAt ?? latest.createdAt) } }
  if (latest.state === 'EXITED') return endedState(latest, view)
  return { waiting: { reason: view.waiting } }
}

function endedState(ended: RuntimeContainer, { runtimeName }: ContainerView): ContainerState {
  if (ended.state !== 'EXITED') return {}
  const { exitCode = 0, reason, createdAt, startedAt = createdAt, finishedAt = startedAt } = ended
  const message = ended.message || ended.terminationMessage
  return {
    terminated: {
      exitCode,
      reason: reason ?? (exitCode === 0 ? 'Completed' : 'Error'),
      ...(message && { message }),
      startedAt: formatTime(startedAt),
      finishedAt: formatTime(finishedAt),
      containerID: `${runtimeName}://${ended.id}`,
    },
  }
}

/** `resources` are those it runs with, `allocatedResources` those it was promised. */
function resourcesOf(
  container: Container,
  actual: Container = container,
): Pick<ContainerStatus, 'resources' | 'allocatedResources'> {
  const { requests, limits } = actual.resources ?? {}
  const allocated = container.resources?.requests
  return {
    resources: { ...(limits && { limits }), ...(requests && { requests }) },
    ...(allocated && { allocatedResources: allocated }),
  }
}

function mountsOf({ volumeMounts = [] }: Container): Pick<ContainerStatus, 'volumeMounts'> {
  if (volumeMounts.length === 0) return {}
  return {
    volumeMounts: volumeMounts.map(({ name, mountPath, readOnly, recursiveReadOnly }) => ({
      name,
      mountPath,
      ...(readOnly && { readOnly, recursiveReadOnly: recursiveReadOnly === 'Enabled' ? 'Enabled' : 'Disabled' }),
    })),
  }
}
