import { ApiError } from '../api/meta/api-error.ts'
import type { KubernetesObject } from '../api/meta/object.ts'
import { formatTime } from '../api/meta/time.ts'
import type { Clock } from '../base/clock.ts'
import type { ApiCall, ResourceType, Transport } from '../client/transport.ts'

const NAMESPACES: ResourceType = { group: '', version: 'v1', plural: 'namespaces', namespaced: false }
const SERVICES: ResourceType = { group: '', version: 'v1', plural: 'services', namespaced: true }
const SERVICE_CIDRS: ResourceType = {
  group: 'networking.k8s.io',
  version: 'v1',
  plural: 'servicecidrs',
  namespaced: false,
}
const PRIORITY_CLASSES: ResourceType = {
  group: 'scheduling.k8s.io',
  version: 'v1',
  plural: 'priorityclasses',
  namespaced: false,
}

export interface BootstrapOptions {
  readonly transport: Transport
  readonly clock: Clock
  readonly serviceCidrs: readonly string[]
  /** The address of the `kubernetes` Service: the first of the first range. */
  readonly kubernetesServiceIp: string
  readonly securePort: number
}

/**
 * What every cluster has from its first moment on. Creates what is missing and leaves the rest alone. What does not
 * depend on each other is created at once, so that it shares the store's syncs.
 */
export async function bootstrap(options: BootstrapOptions): Promise<void> {
  const { transport } = options
  await Promise.all([
    ...['kube-system', 'kube-public', 'kube-node-lease', 'default'].map((name) =>
      ensure(transport, NAMESPACES, { kind: 'Namespace', apiVersion: 'v1', metadata: { name } }),
    ),
    ensureServiceCidr(options),
    ensure(transport, PRIORITY_CLASSES, priorityClass('system-cluster-critical', 2_000_000_000)),
    ensure(transport, PRIORITY_CLASSES, priorityClass('system-node-critical', 2_000_001_000)),
  ])
  await ensure(transport, SERVICES, kubernetesService(options), 'default')
}

async function ensure(
  transport: Transport,
  resource: ResourceType,
  object: KubernetesObject,
  namespace?: string,
): Promise<void> {
  const place = { resource, ...(namespace && { namespace }) }
  try {
    await transport.call({ ...place, verb: 'get', name: object.metadata.name! })
  } catch (error) {
    if (!isCode(error, 404)) throw error
    await create(transport, { ...place, verb: 'create', body: object })
  }
}

/** Another API server on the same store may have been faster. */
async function create(transport: Transport, call: ApiCall): Promise<void> {
  try {
    await transport.call(call)
  } catch (error) {
    if (!isCode(error, 409)) throw error
  }
}

const isCode = (error: unknown, code: number) => error instanceof ApiError && error.code === code

/** The range must be Ready before the first Service can have an address from it. */
async function ensureServiceCidr({ transport, clock, serviceCidrs }: BootstrapOptions): Promise<void> {
  const metadata = { name: 'kubernetes' }
  const body = { kind: 'ServiceCIDR', apiVersion: 'networking.k8s.io/v1', metadata, spec: { cidrs: [...serviceCidrs] } }
  await ensure(transport, SERVICE_CIDRS, body)
  const condition = {
    type: 'Ready',
    status: 'True',
    reason: '',
    message: 'Kubernetes default Service CIDR is ready',
    lastTransitionTime: formatTime(clock.now()),
  }
  const found = (await transport.call({ verb: 'get', resource: SERVICE_CIDRS, name: 'kubernetes' })) as {
    status?: { conditions?: { type: string; status: string }[] }
  }
  if (found.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True')) return
  await transport.call({
    verb: 'patch',
    resource: SERVICE_CIDRS,
    name: 'kubernetes',
    subresource: 'status',
    patchType: 'application/merge-patch+json',
    body: { status: { conditions: [condition] } },
  })
}

function kubernetesService({ kubernetesServiceIp, securePort }: BootstrapOptions): KubernetesObject {
  const labels = { component: 'apiserver', provider: 'kubernetes' }
  const service = {
    kind: 'Service',
    apiVersion: 'v1',
    metadata: { name: 'kubernetes', namespace: 'default', labels },
    spec: {
      type: 'ClusterIP',
      clusterIP: kubernetesServiceIp,
      ipFamilyPolicy: 'SingleStack',
      sessionAffinity: 'None',
      ports: [{ name: 'https', port: 443, protocol: 'TCP', targetPort: securePort }],
    },
  }
  return service
}

function priorityClass(name: string, value: number): KubernetesObject {
  const description =
    name === 'system-node-critical'
      ? 'Used for system critical pods that must not be moved from their current node.'
      : 'Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.'
  const object = { kind: 'PriorityClass', apiVersion: 'scheduling.k8s.io/v1', metadata: { name }, value, description }
  return object
}
