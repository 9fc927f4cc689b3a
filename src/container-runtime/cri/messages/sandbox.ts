/** Sandboxes in the messages of runtime.v1, with the fields that are used: https://github.com/kubernetes/cri-api */
import {
  bigInteger,
  bool,
  integer,
  integers,
  many,
  message,
  one,
  text,
  textMap,
  texts,
} from '../../../protobuf/message.ts'

export const PROTOCOL = { TCP: 0, UDP: 1, SCTP: 2 } as const
export const NAMESPACE_MODE = { POD: 0, CONTAINER: 1, NODE: 2 } as const
export const PROFILE_TYPE = { RuntimeDefault: 0, Unconfined: 1, Localhost: 2 } as const
export const GROUPS_POLICY = { Merge: 0, Strict: 1 } as const
export const SANDBOX_STATES = ['READY', 'NOTREADY'] as const

export const Empty = message({})
export const Int64Value = message({ value: integer(1) })

export const IdMapping = message({ host_id: integer(1), container_id: integer(2), length: integer(3) })
export const UserNamespace = message({ mode: integer(1), uids: many(2, IdMapping), gids: many(3, IdMapping) })
export const NamespaceOption = message({
  network: integer(1),
  pid: integer(2),
  ipc: integer(3),
  userns_options: one(5, UserNamespace),
})
export const SecurityProfile = message({ profile_type: integer(1), localhost_ref: text(2) })

export const HugepageLimit = message({ page_size: text(1), limit: integer(2) })
export const LinuxContainerResources = message({
  cpu_period: integer(1),
  cpu_quota: integer(2),
  cpu_shares: integer(3),
  memory_limit_in_bytes: integer(4),
  oom_score_adj: integer(5),
  cpuset_cpus: text(6),
  hugepage_limits: many(8, HugepageLimit),
  unified: textMap(9),
  memory_swap_limit_in_bytes: integer(10),
})

const DnsConfig = message({ servers: texts(1), searches: texts(2), options: texts(3) })
const PortMapping = message({
  protocol: integer(1),
  container_port: integer(2),
  host_port: integer(3),
  host_ip: text(4),
})
const LinuxSandboxSecurityContext = message({
  namespace_options: one(1, NamespaceOption),
  supplemental_groups: integers(5),
  privileged: bool(6),
  seccomp: one(9, SecurityProfile),
})
const LinuxPodSandboxConfig = message({
  cgroup_parent: text(1),
  security_context: one(2, LinuxSandboxSecurityContext),
  sysctls: textMap(3),
  resources: one(5, LinuxContainerResources),
})
export const PodSandboxMetadata = message({ name: text(1), uid: text(2), namespace: text(3), attempt: integer(4) })
export const PodSandboxConfig = message({
  metadata: one(1, PodSandboxMetadata),
  hostname: text(2),
  log_directory: text(3),
  dns_config: one(4, DnsConfig),
  port_mappings: many(5, PortMapping),
  labels: textMap(6),
  annotations: textMap(7),
  linux: one(8, LinuxPodSandboxConfig),
})
export type PodSandboxConfig = ReturnType<typeof PodSandboxConfig.decode>

export const RunPodSandboxRequest = message({ config: one(1, PodSandboxConfig), runtime_handler: text(2) })
export const SandboxId = message({ pod_sandbox_id: text(1) })
export const SandboxStatusRequest = message({ pod_sandbox_id: text(1), verbose: bool(2) })

const PodIp = message({ ip: text(1) })
const SandboxNetworkStatus = message({ ip: text(1), additional_ips: many(2, PodIp) })
export const PodSandboxStatus = message({
  id: text(1),
  metadata: one(2, PodSandboxMetadata),
  state: integer(3),
  created_at: bigInteger(4),
  network: one(5, SandboxNetworkStatus),
  labels: textMap(7),
  annotations: textMap(8),
})
export type PodSandboxStatus = ReturnType<typeof PodSandboxStatus.decode>
export const PodSandboxStatusResponse = message({ status: one(1, PodSandboxStatus), info: textMap(2) })

export const StateValue = message({ state: integer(1) })
const PodSandboxFilter = message({ id: text(1), state: one(2, StateValue), label_selector: textMap(3) })
export const ListPodSandboxRequest = message({ filter: one(1, PodSandboxFilter) })
export const PodSandbox = message({
  id: text(1),
  metadata: one(2, PodSandboxMetadata),
  state: integer(3),
  created_at: bigInteger(4),
  labels: textMap(5),
  annotations: textMap(6),
})
export type PodSandbox = ReturnType<typeof PodSandbox.decode>
export const ListPodSandboxResponse = message({ items: many(1, PodSandbox) })
