import { createHash } from 'node:crypto'
import type { Container, Pod } from '../../api/generated/core-v1.ts'

/** How sandboxes and containers say which pod they are of; a kubelet that starts anew knows them by these. */
export const POD_NAME_LABEL = 'io.kubernetes.pod.name'
export const POD_NAMESPACE_LABEL = 'io.kubernetes.pod.namespace'
export const POD_UID_LABEL = 'io.kubernetes.pod.uid'
export const CONTAINER_NAME_LABEL = 'io.kubernetes.container.name'
export const CONTAINER_HASH = 'io.kubernetes.container.hash'
const RESTART_COUNT = 'io.kubernetes.container.restartCount'
const TERMINATION_MESSAGE_PATH = 'io.kubernetes.container.terminationMessagePath'
const TERMINATION_MESSAGE_POLICY = 'io.kubernetes.container.terminationMessagePolicy'
export const POD_GRACE_PERIOD = 'io.kubernetes.pod.terminationGracePeriod'

export function sandboxLabels({ metadata }: Pod): Record<string, string> {
  return { ...metadata.labels, ...podLabels(metadata) }
}

export function containerLabels({ metadata }: Pod, container: string): Record<string, string> {
  return { ...podLabels(metadata), [CONTAINER_NAME_LABEL]: container }
}

function podLabels({ name = '', namespace = '', uid = '' }: Pod['metadata']): Record<string, string> {
  return { [POD_NAME_LABEL]: name, [POD_NAMESPACE_LABEL]: namespace, [POD_UID_LABEL]: uid }
}

export function containerAnnotations(pod: Pod, container: Container, attempt: number): Record<string, string> {
  return {
    [CONTAINER_HASH]: containerHash(container),
    [RESTART_COUNT]: String(attempt),
    [TERMINATION_MESSAGE_PATH]: container.terminationMessagePath ?? '',
    [TERMINATION_MESSAGE_POLICY]: container.terminationMessagePolicy ?? '',
    [POD_GRACE_PERIOD]: String(pod.spec?.terminationGracePeriodSeconds ?? 30),
  }
}

/** Changes when the container must be made anew: of what may be changed in a running pod, that is the image. */
export function containerHash({ name, image = '' }: Pick<Container, 'name' | 'image'>): string {
  return createHash('sha256').update(`${name}\n${image}`).digest('hex').slice(0, 8)
}

/** As upstream prints a pod in messages: `web_default(0b1c...)`. */
export const podText = ({ metadata }: Pod) => `${metadata.name}_${metadata.namespace}(${metadata.uid})`
