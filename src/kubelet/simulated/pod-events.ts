import type { ContainerStatus, Pod, PodStatus } from '../../api/generated/core-v1.ts'
import type { EventRecorder } from '../../client/events.ts'

/** Tells what happened to a pod's containers between two statuses, as a kubelet does. */
export function recordPodEvents(events: EventRecorder, pod: Pod, next: PodStatus): void {
  record(events, pod, 'initContainers', pod.status?.initContainerStatuses, next.initContainerStatuses)
  record(events, pod, 'containers', pod.status?.containerStatuses, next.containerStatuses)
}

export function recordKilling(events: EventRecorder, pod: Pod): void {
  for (const { name, state } of pod.status?.containerStatuses ?? [])
    if (state?.running) events.event(partOf(pod, 'containers', name), 'Normal', 'Killing', `Stopping container ${name}`)
}

function record(
  events: EventRecorder,
  pod: Pod,
  list: 'containers' | 'initContainers',
  before: readonly ContainerStatus[] = [],
  after: readonly ContainerStatus[] = [],
): void {
  for (const status of after) {
    const known = before.find(({ name }) => name === status.name)
    const about = partOf(pod, list, status.name)
    const image = pod.spec?.[list]?.find(({ name }) => name === status.name)?.image ?? ''
    if (status.containerID !== undefined && status.containerID !== known?.containerID) {
      events.event(about, 'Normal', 'Pulled', `Container image "${image}" already present on machine`)
      events.event(about, 'Normal', 'Created', `Created container: ${status.name}`)
      events.event(about, 'Normal', 'Started', `Started container ${status.name}`)
    }
    const reason = status.state?.waiting?.reason
    if (reason !== known?.state?.waiting?.reason) recordWaiting(events, pod, about, status, image)
  }
}

function recordWaiting(
  events: EventRecorder,
  { metadata }: Pod,
  about: Parameters<EventRecorder['event']>[0],
  { name, state }: ContainerStatus,
  image: string,
): void {
  const { reason, message = '' } = state?.waiting ?? {}
  if (reason === 'ErrImagePull') {
    events.event(about, 'Normal', 'Pulling', `Pulling image "${image}"`)
    events.event(about, 'Warning', 'Failed', `Failed to pull image "${image}": ${message}`)
    events.event(about, 'Warning', 'Failed', 'Error: ErrImagePull')
  } else if (reason === 'ImagePullBackOff') {
    events.event(about, 'Normal', 'BackOff', `Back-off pulling image "${image}"`)
    events.event(about, 'Warning', 'Failed', 'Error: ImagePullBackOff')
  } else if (reason === 'CrashLoopBackOff') {
    const where = `${metadata.name}_${metadata.namespace}(${metadata.uid})`
    events.event(about, 'Warning', 'BackOff', `Back-off restarting failed container ${name} in pod ${where}`)
  } else if (reason === 'CreateContainerConfigError') {
    events.event(about, 'Warning', 'Failed', `Error: ${message}`)
  }
}

function partOf({ metadata }: Pod, list: string, container: string) {
  const { namespace = '', name = '', uid = '', resourceVersion = '' } = metadata
  const fieldPath = `spec.${list}{${container}}`
  return { apiVersion: 'v1', kind: 'Pod', namespace, name, uid, resourceVersion, fieldPath }
}
