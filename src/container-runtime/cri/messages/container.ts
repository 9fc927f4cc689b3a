/** Containers in the messages of runtime.v1, with the fields that are used. */
import {
  bigInteger,
  bool,
  bytes,
  integer,
  integers,
  many,
  message,
  one,
  text,
  textMap,
  texts,
} from '../../../protobuf/message.ts'
import {
  IdMapping,
  Int64Value,
  LinuxContainerResources,
  NamespaceOption,
  PodSandboxConfig,
  SecurityProfile,
  StateValue,
} from './sandbox.ts'

export const PROPAGATION = { PRIVATE: 0, HOST_TO_CONTAINER: 1, BIDIRECTIONAL: 2 } as const
export const CONTAINER_STATES = ['CREATED', 'RUNNING', 'EXITED', 'UNKNOWN'] as const

/** The enum Signal, by its numbers; 0 is the image's own or SIGTERM. */
export const SIGNALS: readonly string[] = [
  ...['', 'SIGABRT', 'SIGALRM', 'SIGBUS', 'SIGCHLD', 'SIGCLD', 'SIGCONT', 'SIGFPE', 'SIGHUP', 'SIGILL', 'SIGINT'],
  ...['SIGIO', 'SIGIOT', 'SIGKILL', 'SIGPIPE', 'SIGPOLL', 'SIGPROF', 'SIGPWR', 'SIGQUIT', 'SIGSEGV', 'SIGSTKFLT'],
  ...['SIGSTOP', 'SIGSYS', 'SIGTERM', 'SIGTRAP', 'SIGTSTP', 'SIGTTIN', 'SIGTTOU', 'SIGURG', 'SIGUSR1', 'SIGUSR2'],
  ...['SIGVTALRM', 'SIGWINCH', 'SIGXCPU', 'SIGXFSZ', 'SIGRTMIN'],
  ...Array.from({ length: 15 }, (_, i) => `SIGRTMIN+${i + 1}`),
  ...Array.from({ length: 14 }, (_, i) => `SIGRTMAX-${14 - i}`),
  'SIGRTMAX',
]

export const ImageSpec = message({ image: text(1), annotations: textMap(2), user_specified_image: text(18) })

const Capability = message({ add_capabilities: texts(1), drop_capabilities: texts(2) })
const LinuxContainerSecurityContext = message({
  capabilities: one(1, Capability),
  privileged: bool(2),
  namespace_options: one(3, NamespaceOption),
  run_as_user: one(5, Int64Value),
  run_as_username: text(6),
  readonly_rootfs: bool(7),
  supplemental_groups: integers(8),
  no_new_privs: bool(11),
  run_as_group: one(12, Int64Value),
  masked_paths: texts(13),
  readonly_paths: texts(14),
  seccomp: one(15, SecurityProfile),
  supplemental_groups_policy: integer(17),
})
const LinuxContainerConfig = message({
  resources: one(1, LinuxContainerResources),
  security_context: one(2, LinuxContainerSecurityContext),
})

const KeyValue = message({ key: text(1), value: bytes(2) })
const Mount = message({
  container_path: text(1),
  host_path: text(2),
  readonly: bool(3),
  propagation: integer(5),
  uid_mappings: many(6, IdMapping),
  gid_mappings: many(7, IdMapping),
  recursive_read_only: bool(8),
  image: one(9, ImageSpec),
  image_sub_path: text(10),
})
const Device = message({ container_path: text(1), host_path: text(2), permissions: text(3) })
const ContainerMetadata = message({ name: text(1), attempt: integer(2) })
export const ContainerConfig = message({
  metadata: one(1, ContainerMetadata),
  image: one(2, ImageSpec),
  command: texts(3),
  args: texts(4),
  working_dir: text(5),
  envs: many(6, KeyValue),
  mounts: many(7, Mount),
  devices: many(8, Device),
  labels: textMap(9),
  annotations: textMap(10),
  log_path: text(11),
  stdin: bool(12),
  stdin_once: bool(13),
  tty: bool(14),
  linux: one(15, LinuxContainerConfig),
  stop_signal: integer(18),
})
export type ContainerConfig = ReturnType<typeof ContainerConfig.decode>

export const CreateContainerRequest = message({
  pod_sandbox_id: text(1),
  config: one(2, ContainerConfig),
  sandbox_config: one(3, PodSandboxConfig),
})
export const ContainerId = message({ container_id: text(1) })
export const StopContainerRequest = message({ container_id: text(1), timeout: integer(2) })

const ContainerFilter = message({
  id: text(1),
  state: one(2, StateValue),
  pod_sandbox_id: text(3),
  label_selector: textMap(4),
})
export const ListContainersRequest = message({ filter: one(1, ContainerFilter) })
export const Container = message({
  id: text(1),
  pod_sandbox_id: text(2),
  metadata: one(3, ContainerMetadata),
  image: one(4, ImageSpec),
  image_ref: text(5),
  state: integer(6),
  created_at: bigInteger(7),
  labels: textMap(8),
  annotations: textMap(9),
  image_id: text(10),
})
export type Container = ReturnType<typeof Container.decode>
export const ListContainersResponse = message({ containers: many(1, Container) })

const LinuxContainerUser = message({ uid: integer(1), gid: integer(2), supplemental_groups: integers(3) })
const ContainerUser = message({ linux: one(1, LinuxContainerUser) })
export const ContainerStatus = message({
  id: text(1),
  metadata: one(2, ContainerMetadata),
  state: integer(3),
  created_at: bigInteger(4),
  started_at: bigInteger(5),
  finished_at: bigInteger(6),
  exit_code: integer(7),
  image: one(8, ImageSpec),
  image_ref: text(9),
  reason: text(10),
  message: text(11),
  labels: textMap(12),
  annotations: textMap(13),
  log_path: text(15),
  image_id: text(17),
  user: one(18, ContainerUser),
  stop_signal: integer(19),
})
export type ContainerStatus = ReturnType<typeof ContainerStatus.decode>
export const ContainerStatusRequest = message({ container_id: text(1), verbose: bool(2) })
export const ContainerStatusResponse = message({ status: one(1, ContainerStatus), info: textMap(2) })
export const UpdateContainerResourcesRequest = message({
  container_id: text(1),
  linux: one(2, LinuxContainerResources),
})

export const ExecSyncRequest = message({ container_id: text(1), cmd: texts(2), timeout: integer(3) })
export const ExecSyncResponse = message({ stdout: bytes(1), stderr: bytes(2), exit_code: integer(3) })
export const ExecRequest = message({
  container_id: text(1),
  cmd: texts(2),
  tty: bool(3),
  stdin: bool(4),
  stdout: bool(5),
  stderr: bool(6),
})
export const AttachRequest = message({
  container_id: text(1),
  stdin: bool(2),
  tty: bool(3),
  stdout: bool(4),
  stderr: bool(5),
})
export const PortForwardRequest = message({ pod_sandbox_id: text(1), port: integers(2) })
export const StreamingUrl = message({ url: text(1) })
