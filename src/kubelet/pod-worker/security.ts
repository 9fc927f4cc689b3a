import type { SeccompProfile as ApiSeccomp, Container, Pod } from '../../api/generated/core-v1.ts'
import type { SeccompProfile, SecurityContext } from '../../container-runtime/container-config.ts'
import type { Image } from '../../container-runtime/image-service.ts'
import type { NamespaceOptions } from '../../container-runtime/sandbox-config.ts'
import { podText } from '../pod/runtime-labels.ts'

const MASKED_PATHS = [
  '/proc/asound',
  '/proc/acpi',
  '/proc/interrupts',
  '/proc/kcore',
  '/proc/keys',
  '/proc/latency_stats',
  '/proc/timer_list',
  '/proc/timer_stats',
  '/proc/sched_debug',
  '/proc/scsi',
  '/sys/firmware',
  '/sys/devices/virtual/powercap',
]
const READONLY_PATHS = ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger']

export function podNamespaces({ spec }: Pod, user: NamespaceOptions['user']): NamespaceOptions {
  return {
    network: spec?.hostNetwork ? 'NODE' : 'POD',
    pid: spec?.hostPID ? 'NODE' : spec?.shareProcessNamespace ? 'POD' : 'CONTAINER',
    ipc: spec?.hostIPC ? 'NODE' : 'POD',
    ...(user && { user }),
  }
}

/** One of its containers is: some runtimes want to know before the first. */
export function isPrivileged({ spec }: Pod): boolean {
  const all = [...(spec?.initContainers ?? []), ...(spec?.containers ?? []), ...(spec?.ephemeralContainers ?? [])]
  return all.some(({ securityContext }) => securityContext?.privileged === true)
}

export interface NodeSecurity {
  /** Where seccomp profiles of type Localhost are. */
  readonly profilesDir: string
  /** Containers without a profile get that of the runtime. */
  readonly seccompDefault: boolean
  /** The pod's own users. */
  readonly user: NamespaceOptions['user']
}

/** What a container may do: its own wishes over the pod's. */
export function securityContext(pod: Pod, container: Container, node: NodeSecurity): SecurityContext {
  const shared = pod.spec?.securityContext ?? {}
  const own = container.securityContext ?? {}
  const privileged = own.privileged === true
  const isUnmasked = privileged || own.procMount === 'Unmasked'
  const runAsUser = own.runAsUser ?? shared.runAsUser
  const runAsGroup = own.runAsGroup ?? shared.runAsGroup
  const groups = [...(shared.supplementalGroups ?? []), ...(shared.fsGroup === undefined ? [] : [shared.fsGroup])]
  return {
    privileged,
    namespaces: podNamespaces(pod, node.user),
    ...(runAsUser !== undefined && { runAsUser }),
    ...(runAsGroup !== undefined && { runAsGroup }),
    supplementalGroups: [...new Set(groups)],
    supplementalGroupsPolicy: shared.supplementalGroupsPolicy === 'Strict' ? 'Strict' : 'Merge',
    readonlyRootfs: own.readOnlyRootFilesystem === true,
    noNewPrivileges: own.allowPrivilegeEscalation === false && !privileged,
    addCapabilities: own.capabilities?.add ?? [],
    dropCapabilities: own.capabilities?.drop ?? [],
    seccomp: privileged ? { type: 'Unconfined' } : seccomp(own.seccompProfile ?? shared.seccompProfile, node),
    maskedPaths: isUnmasked ? [] : MASKED_PATHS,
    readonlyPaths: isUnmasked ? [] : READONLY_PATHS,
  }
}

function seccomp(
  profile: ApiSeccomp | undefined,
  { profilesDir, seccompDefault }: Pick<NodeSecurity, 'profilesDir' | 'seccompDefault'>,
): SeccompProfile {
  if (profile?.type === 'RuntimeDefault' || (!profile && seccompDefault)) return { type: 'RuntimeDefault' }
  if (profile?.type === 'Localhost')
    return { type: 'Localhost', path: `${profilesDir}/${profile.localhostProfile ?? ''}` }
  return { type: 'Unconfined' }
}

/** Refuses what would run as root although it must not. */
export function checkNonRoot(pod: Pod, container: Container, image: Image): void {
  const shared = pod.spec?.securityContext ?? {}
  const own = container.securityContext ?? {}
  if (!(own.runAsNonRoot ?? shared.runAsNonRoot)) return
  const where = `(pod: ${JSON.stringify(podText(pod))}, container: ${container.name})`
  const user = own.runAsUser ?? shared.runAsUser
  if (user !== undefined) {
    if (user === 0) throw new Error(`container's runAsUser breaks non-root policy ${where}`)
    return
  }
  if (image.uid === 0 || (image.uid === undefined && !image.username))
    throw new Error(`container has runAsNonRoot and image will run as root ${where}`)
  if (image.uid === undefined)
    throw new Error(
      `container has runAsNonRoot and image has non-numeric user (${image.username}), cannot verify user is non-root ${where}`,
    )
}
