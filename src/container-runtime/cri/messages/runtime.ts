/** The runtime as a whole, its images, figures and events, in the messages of runtime.v1, with the fields that are used. */
import {
  bigInteger,
  bool,
  bytes,
  integer,
  many,
  message,
  one,
  text,
  textMap,
  texts,
} from '../../../protobuf/message.ts'
import { ImageSpec } from './container.ts'
import { Int64Value, PodSandboxMetadata, PodSandboxStatus } from './sandbox.ts'

export const VersionRequest = message({ version: text(1) })
export const VersionResponse = message({
  runtime_name: text(2),
  runtime_version: text(3),
  runtime_api_version: text(4),
})

const RuntimeCondition = message({ type: text(1), status: bool(2), reason: text(3), message: text(4) })
const RuntimeStatus = message({ conditions: many(1, RuntimeCondition) })
const RuntimeHandlerFeatures = message({ recursive_read_only_mounts: bool(1), user_namespaces: bool(2) })
const RuntimeHandler = message({ name: text(1), features: one(2, RuntimeHandlerFeatures) })
export const StatusResponse = message({ status: one(1, RuntimeStatus), runtime_handlers: many(3, RuntimeHandler) })

/** Of `cgroup_driver`: systemd makes the groups. */
export const CGROUP_DRIVER_SYSTEMD = 0
const LinuxRuntimeConfiguration = message({ cgroup_driver: integer(1) })
export const RuntimeConfigResponse = message({ linux: one(1, LinuxRuntimeConfiguration) })

export const EVENT_TYPES = ['CREATED', 'STARTED', 'STOPPED', 'DELETED'] as const
export const ContainerEventResponse = message({
  container_id: text(1),
  container_event_type: integer(2),
  pod_sandbox_status: one(4, PodSandboxStatus),
})

const UInt64Value = message({ value: integer(1) })
const FilesystemIdentifier = message({ mountpoint: text(1) })
const FilesystemUsage = message({
  fs_id: one(2, FilesystemIdentifier),
  used_bytes: one(3, UInt64Value),
  inodes_used: one(4, UInt64Value),
})
const CpuUsage = message({ timestamp: bigInteger(1), usage_core_nano_seconds: one(2, UInt64Value) })
const MemoryUsage = message({
  working_set_bytes: one(2, UInt64Value),
  usage_bytes: one(4, UInt64Value),
  rss_bytes: one(5, UInt64Value),
  page_faults: one(6, UInt64Value),
  major_page_faults: one(7, UInt64Value),
})
const ContainerMetadata = message({ name: text(1), attempt: integer(2) })
const ContainerAttributes = message({ id: text(1), metadata: one(2, ContainerMetadata), labels: textMap(3) })
export const ContainerStats = message({
  attributes: one(1, ContainerAttributes),
  cpu: one(2, CpuUsage),
  memory: one(3, MemoryUsage),
  writable_layer: one(4, FilesystemUsage),
})
export type ContainerStats = ReturnType<typeof ContainerStats.decode>
const ContainerStatsFilter = message({ id: text(1), pod_sandbox_id: text(2), label_selector: textMap(3) })
export const ListContainerStatsRequest = message({ filter: one(1, ContainerStatsFilter) })
export const ListContainerStatsResponse = message({ stats: many(1, ContainerStats) })

const NetworkInterfaceUsage = message({
  name: text(1),
  rx_bytes: one(2, UInt64Value),
  rx_errors: one(3, UInt64Value),
  tx_bytes: one(4, UInt64Value),
  tx_errors: one(5, UInt64Value),
})
const NetworkUsage = message({
  default_interface: one(2, NetworkInterfaceUsage),
  interfaces: many(3, NetworkInterfaceUsage),
})
const ProcessUsage = message({ process_count: one(2, UInt64Value) })
const LinuxPodSandboxStats = message({
  cpu: one(1, CpuUsage),
  memory: one(2, MemoryUsage),
  network: one(3, NetworkUsage),
  process: one(4, ProcessUsage),
})
const PodSandboxAttributes = message({ id: text(1), metadata: one(2, PodSandboxMetadata) })
export const PodSandboxStats = message({
  attributes: one(1, PodSandboxAttributes),
  linux: one(2, LinuxPodSandboxStats),
})
export type PodSandboxStats = ReturnType<typeof PodSandboxStats.decode>
const PodSandboxStatsFilter = message({ id: text(1) })
export const ListPodSandboxStatsRequest = message({ filter: one(1, PodSandboxStatsFilter) })
export const ListPodSandboxStatsResponse = message({ stats: many(1, PodSandboxStats) })

export const Image = message({
  id: text(1),
  repo_tags: texts(2),
  repo_digests: texts(3),
  size: integer(4),
  uid: one(5, Int64Value),
  username: text(6),
  pinned: bool(8),
})
export type Image = ReturnType<typeof Image.decode>
export const ListImagesResponse = message({ images: many(1, Image) })
export const ImageRequest = message({ image: one(1, ImageSpec) })
export const ImageStatusResponse = message({ image: one(1, Image) })
const AuthConfig = message({ username: text(1), password: text(2), identity_token: text(5), registry_token: text(6) })
export const PullImageRequest = message({ image: one(1, ImageSpec), auth: one(2, AuthConfig) })
export const PullImageResponse = message({ image_ref: text(1) })
export const ImageFsInfoResponse = message({ image_filesystems: many(1, FilesystemUsage) })

/** What containerd tells on the same socket beside CRI: containerd.services.events.v1. */
const Any = message({ type_url: text(1), value: bytes(2) })
export const SubscribeRequest = message({ filters: texts(1) })
export const EventEnvelope = message({ namespace: text(2), topic: text(3), event: one(4, Any) })
/** TaskExit; TaskOOM has the container's id alone. */
export const TaskEvent = message({ container_id: text(1), id: text(2) })
