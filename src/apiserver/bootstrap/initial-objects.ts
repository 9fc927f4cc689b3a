import type { KubernetesObject } from '../../api/meta/object.ts'
import { formatTime } from '../../api/meta/time.ts'
import { NAMESPACE } from '../../api/meta/well-known.ts'
import type { Clock } from '../../base/clock.ts'

/** What every cluster has from its first moment on. */
export function initialObjects(clock: Clock, serviceCidrs: readonly string[]): KubernetesObject[] {
  return [
    ...[NAMESPACE.system, NAMESPACE.public, NAMESPACE.nodeLease, 'default'].map(namespace),
    serviceCidr(clock, serviceCidrs),
    priorityClass('system-cluster-critical', 2_000_000_000),
    priorityClass('system-node-critical', 2_000_001_000),
  ]
}

const namespace = (name: string): KubernetesObject => ({ kind: 'Namespace', apiVersion: 'v1', metadata: { name } })

/** The range must be Ready before the first Service can have an address from it. */
function serviceCidr(clock: Clock, cidrs: readonly string[]): KubernetesObject {
  const condition = {
    type: 'Ready',
    status: 'True',
    reason: '',
    message: 'Kubernetes default Service CIDR is ready',
    lastTransitionTime: formatTime(clock.now()),
  }
  const object = {
    kind: 'ServiceCIDR',
    apiVersion: 'networking.k8s.io/v1',
    metadata: { name: 'kubernetes' },
    spec: { cidrs: [...cidrs] },
    status: { conditions: [condition] },
  }
  return object
}

function priorityClass(name: string, value: number): KubernetesObject {
  const description =
    name === 'system-node-critical'
      ? 'Used for system critical pods that must not be moved from their current node.'
      : 'Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.'
  const object = { kind: 'PriorityClass', apiVersion: 'scheduling.k8s.io/v1', metadata: { name }, value, description }
  return object
}
