import type { Container, Node, Pod, Service } from '../../api/generated/core-v1.ts'
import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import type { Client } from '../../client/client.ts'
import type { EventRecorder, EventType, ObjectReference } from '../../client/events.ts'
import type { ContainerRuntime } from '../../container-runtime/runtime.ts'
import type { DnsSettings } from '../environment/dns.ts'
import type { Dial } from '../handlers/connection.ts'
import type { ImagePuller } from '../images/image-puller.ts'
import type { Mounter } from '../mounter.ts'
import type { KeyedBackoff } from '../pod/backoff.ts'
import type { VolumeContext } from '../volumes/volume-plugin.ts'
import type { Rejection } from './admission.ts'
import type { ObjectSource } from './object-source.ts'
import type { UserNamespaces } from './user-namespaces.ts'

/** What every pod worker of a node shares. */
export interface WorkerContext {
  readonly client: Client
  readonly clock: Clock
  readonly log: Logger
  readonly events: EventRecorder
  readonly runtime: ContainerRuntime
  /** For container ids in the API: `containerd://...`. */
  readonly runtimeName: string
  readonly nodeName: string
  readonly rootDir: string
  readonly podLogsDir: string
  readonly podPidsLimit: number | undefined
  readonly seccompDefault: boolean
  readonly userNamespaces: UserNamespaces
  readonly dns: DnsSettings
  readonly dial: Dial
  readonly userAgent: string
  readonly mounter: Mounter
  readonly volumes: VolumeContext
  readonly source: ObjectSource
  readonly puller: ImagePuller
  readonly restartBackoff: KeyedBackoff
  readonly node: () => Node | undefined
  readonly services: () => readonly Service[]
  readonly hostIPs: () => readonly string[]
  /** The second check; undefined lets the pod in. */
  readonly admit: (pod: Pod) => Rejection | undefined
  /** Whether the node has what a pod on it would like to have now; `Deferred` if another time, `Infeasible` if never. */
  readonly admitResize: (pod: Pod) => Rejection | undefined
  /** Devices and their environment that a container was promised, if any. */
  readonly devices: (pod: Pod, container: Container) => Promise<ContainerDevices>
}

export interface ContainerDevices {
  readonly env: ReadonlyMap<string, string>
  readonly mounts: readonly { readonly containerPath: string; readonly hostPath: string; readonly readonly: boolean }[]
  readonly devices: readonly {
    readonly containerPath: string
    readonly hostPath: string
    readonly permissions: string
  }[]
}

/** Events about a container point into the pod: `spec.containers{web}`. */
export function containerReference(pod: Pod, name: string): ObjectReference {
  const { namespace = '', name: podName = '', uid = '', resourceVersion = '' } = pod.metadata
  const fieldPath = `spec.${listOf(pod, name)}{${name}}`
  return { apiVersion: 'v1', kind: 'Pod', namespace, name: podName, uid, resourceVersion, fieldPath }
}

function listOf({ spec }: Pod, name: string): string {
  if (spec?.initContainers?.some((one) => one.name === name)) return 'initContainers'
  return spec?.ephemeralContainers?.some((one) => one.name === name) ? 'ephemeralContainers' : 'containers'
}

export function podReference(pod: Pod): ObjectReference {
  const { namespace = '', name = '', uid = '', resourceVersion = '' } = pod.metadata
  return { apiVersion: 'v1', kind: 'Pod', namespace, name, uid, resourceVersion }
}

export function recordContainer(
  { events }: Pick<WorkerContext, 'events'>,
  pod: Pod,
  container: Pick<Container, 'name'>,
  type: EventType,
  reason: string,
  message: string,
): void {
  events.event(containerReference(pod, container.name), type, reason, message)
}
