/** What a runtime answers, in our words. Absent fields are zero values, as protobuf has it. */
import type { Image } from '../image-service.ts'
import type {
  Container,
  ContainerStats,
  ContainerStatus,
  PodSandbox,
  PodSandboxStats,
  PodSandboxStatus,
} from '../runtime.ts'
import {
  CONTAINER_STATES,
  type Container as ContainerMessage,
  type ContainerStatus as StatusMessage,
} from './messages/container.ts'
import type {
  Image as ImageMessage,
  PodSandboxStats as SandboxStatsMessage,
  ContainerStats as StatsMessage,
} from './messages/runtime.ts'
import {
  SANDBOX_STATES,
  type PodSandbox as SandboxMessage,
  type PodSandboxStatus as SandboxStatusMessage,
} from './messages/sandbox.ts'

/** The sandbox remembers its cgroup, so that whoever removes it knows what to clear away. */
export const CGROUP_PARENT_ANNOTATION = 'sampan.dev/cgroup-parent'

/** Nanoseconds since 1970 exceed what a number holds; milliseconds with fractions do not. */
export function milliseconds(nanoseconds: bigint | undefined): number {
  if (!nanoseconds) return 0
  return Number(nanoseconds / 1_000_000n) + Number(nanoseconds % 1_000_000n) / 1e6
}

export function sandboxOf(message: SandboxMessage): PodSandbox {
  const { name = '', namespace = '', uid = '', attempt = 0 } = message.metadata ?? {}
  const { [CGROUP_PARENT_ANNOTATION]: _, ...annotations } = message.annotations ?? {}
  return {
    id: message.id ?? '',
    metadata: { name, namespace, uid, attempt },
    state: SANDBOX_STATES[message.state ?? 0] ?? 'NOTREADY',
    createdAt: milliseconds(message.created_at),
    labels: message.labels ?? {},
    annotations,
  }
}

export function sandboxStatusOf(message: SandboxStatusMessage): PodSandboxStatus {
  const { ip, additional_ips: more = [] } = message.network ?? {}
  const ips = [ip, ...more.map((one) => one.ip)].filter((one) => one !== undefined && one !== '')
  return { ...sandboxOf(message), ips: ips as string[] }
}

export function containerOf(message: ContainerMessage): Container {
  return {
    ...commonOf(message),
    sandboxId: message.pod_sandbox_id ?? '',
  }
}

type Common = Pick<
  ContainerMessage,
  'id' | 'metadata' | 'image' | 'image_ref' | 'image_id' | 'state' | 'created_at' | 'labels' | 'annotations'
>

function commonOf(message: Common): Omit<Container, 'sandboxId'> {
  const { user_specified_image: asked, image = '' } = message.image ?? {}
  return {
    id: message.id ?? '',
    name: message.metadata?.name ?? '',
    attempt: message.metadata?.attempt ?? 0,
    image: asked || image,
    imageId: message.image_id || message.image_ref || '',
    state: CONTAINER_STATES[message.state ?? 0] ?? 'UNKNOWN',
    createdAt: milliseconds(message.created_at),
    labels: message.labels ?? {},
    annotations: message.annotations ?? {},
  }
}

/** The status does not name the sandbox; the caller knows it from the list. */
export function containerStatusOf(message: StatusMessage, sandboxId: string): ContainerStatus {
  const common = commonOf(message)
  const hasEnded = common.state === 'EXITED'
  const { uid = 0, gid = 0, supplemental_groups: supplementalGroups = [] } = message.user?.linux ?? {}
  return {
    ...common,
    sandboxId,
    logPath: message.log_path ?? '',
    ...(message.started_at && { startedAt: milliseconds(message.started_at) }),
    ...(hasEnded && { finishedAt: milliseconds(message.finished_at), exitCode: message.exit_code ?? 0 }),
    ...(message.reason && { reason: message.reason }),
    ...(message.message && { message: message.message }),
    ...(message.user?.linux && { user: { uid, gid, supplementalGroups } }),
  }
}

export function imageOf(message: ImageMessage): Image {
  return {
    id: message.id ?? '',
    repoTags: message.repo_tags ?? [],
    repoDigests: message.repo_digests ?? [],
    size: message.size ?? 0,
    ...(message.uid && { uid: message.uid.value ?? 0 }),
    ...(message.username && { username: message.username }),
    pinned: message.pinned ?? false,
  }
}

export function containerStatsOf(message: StatsMessage, sandboxId: string, processes: number): ContainerStats {
  const { attributes, cpu, memory, writable_layer: layer } = message
  return {
    containerId: attributes?.id ?? '',
    sandboxId,
    name: attributes?.metadata?.name ?? '',
    labels: attributes?.labels ?? {},
    timestamp: milliseconds(cpu?.timestamp),
    cpuNanoseconds: cpu?.usage_core_nano_seconds?.value ?? 0,
    memoryUsageBytes: memory?.usage_bytes?.value ?? 0,
    memoryWorkingSetBytes: memory?.working_set_bytes?.value ?? 0,
    memoryRssBytes: memory?.rss_bytes?.value ?? 0,
    pageFaults: memory?.page_faults?.value ?? 0,
    majorPageFaults: memory?.major_page_faults?.value ?? 0,
    processes,
    filesystemUsedBytes: layer?.used_bytes?.value ?? 0,
    filesystemInodesUsed: layer?.inodes_used?.value ?? 0,
  }
}

export function sandboxStatsOf({ attributes, linux }: SandboxStatsMessage): PodSandboxStats {
  const { name = '', namespace = '', uid = '', attempt = 0 } = attributes?.metadata ?? {}
  const { cpu, memory, network, process: processes } = linux ?? {}
  const links = [network?.default_interface, ...(network?.interfaces ?? [])].filter((link) => link !== undefined)
  return {
    sandboxId: attributes?.id ?? '',
    metadata: { name, namespace, uid, attempt },
    timestamp: milliseconds(cpu?.timestamp),
    cpuNanoseconds: cpu?.usage_core_nano_seconds?.value ?? 0,
    memoryUsageBytes: memory?.usage_bytes?.value ?? 0,
    memoryWorkingSetBytes: memory?.working_set_bytes?.value ?? 0,
    processes: processes?.process_count?.value ?? 0,
    network: links.map((link) => ({
      name: link.name ?? '',
      rxBytes: link.rx_bytes?.value ?? 0,
      rxErrors: link.rx_errors?.value ?? 0,
      txBytes: link.tx_bytes?.value ?? 0,
      txErrors: link.tx_errors?.value ?? 0,
    })),
  }
}
