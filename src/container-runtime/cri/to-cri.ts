/** What the kubelet asks for, in CRI's messages. */
import type { ContainerConfig, LinuxContainerResources, SeccompProfile, SecurityContext } from '../container-config.ts'
import type { IdMapping, NamespaceOptions, PodSandboxConfig } from '../sandbox-config.ts'
import { type ContainerConfig as ContainerMessage, PROPAGATION, SIGNALS } from './messages/container.ts'
import {
  GROUPS_POLICY,
  NAMESPACE_MODE,
  PROFILE_TYPE,
  PROTOCOL,
  type PodSandboxConfig as SandboxMessage,
} from './messages/sandbox.ts'

export function sandboxMessage(config: PodSandboxConfig, cgroupParent: string): SandboxMessage {
  return {
    metadata: config.metadata,
    // On the node's network runtimes take the machine's name, and refuse another.
    hostname: config.namespaces.network === 'NODE' ? '' : config.hostname,
    log_directory: config.logDirectory,
    dns_config: config.dns,
    port_mappings: config.portMappings.map(({ protocol, containerPort, hostPort, hostIp }) => ({
      protocol: PROTOCOL[protocol],
      container_port: containerPort,
      host_port: hostPort,
      ...(hostIp !== undefined && { host_ip: hostIp }),
    })),
    labels: config.labels,
    annotations: config.annotations,
    linux: {
      cgroup_parent: cgroupParent,
      sysctls: config.sysctls,
      security_context: {
        namespace_options: namespaceMessage(config.namespaces),
        privileged: config.privileged ?? false,
        seccomp: { profile_type: PROFILE_TYPE.RuntimeDefault },
      },
      ...(config.resources && { resources: resourcesMessage(config.resources) }),
    },
  }
}

export function containerMessage(config: ContainerConfig, unified: Readonly<Record<string, string>>): ContainerMessage {
  const { user } = config.security.namespaces
  return {
    metadata: { name: config.name, attempt: config.attempt },
    image: { image: config.imageId, user_specified_image: config.image },
    command: config.command,
    args: config.args,
    working_dir: config.workingDir,
    envs: config.env.map(({ name, value }) => ({ key: name, value: Buffer.from(value) })),
    mounts: config.mounts.map((mount) => ({
      container_path: mount.containerPath,
      host_path: mount.hostPath,
      readonly: mount.readonly,
      propagation: PROPAGATION[mount.propagation],
      recursive_read_only: mount.recursiveReadonly ?? false,
      ...(mount.image && { image: { image: mount.image.id }, image_sub_path: mount.image.subPath ?? '' }),
      ...(user && { uid_mappings: ids(user.uids), gid_mappings: ids(user.gids) }),
    })),
    devices: config.devices.map(({ containerPath, hostPath, permissions }) => ({
      container_path: containerPath,
      host_path: hostPath,
      permissions,
    })),
    labels: config.labels,
    annotations: config.annotations,
    log_path: config.logPath,
    stdin: config.stdin,
    stdin_once: config.stdinOnce,
    tty: config.tty,
    linux: {
      resources: { ...resourcesMessage(config.resources), unified },
      security_context: securityMessage(config.security),
    },
    ...(config.stopSignal !== undefined && { stop_signal: signalNumber(config.stopSignal) }),
  }
}

export const signalNumber = (name: string) => Math.max(0, SIGNALS.indexOf(name))

export function resourcesMessage(resources: LinuxContainerResources) {
  const { hugepageLimits = {} } = resources
  return {
    ...(resources.cpuPeriod !== undefined && { cpu_period: resources.cpuPeriod }),
    ...(resources.cpuQuota !== undefined && { cpu_quota: resources.cpuQuota }),
    ...(resources.cpuShares !== undefined && { cpu_shares: resources.cpuShares }),
    ...(resources.memoryLimitBytes !== undefined && { memory_limit_in_bytes: resources.memoryLimitBytes }),
    ...(resources.memorySwapLimitBytes !== undefined && { memory_swap_limit_in_bytes: resources.memorySwapLimitBytes }),
    ...(resources.oomScoreAdj !== undefined && { oom_score_adj: resources.oomScoreAdj }),
    ...(resources.cpusetCpus !== undefined && { cpuset_cpus: resources.cpusetCpus }),
    hugepage_limits: Object.entries(hugepageLimits).map(([page_size, limit]) => ({ page_size, limit })),
  }
}

function securityMessage(security: SecurityContext) {
  return {
    capabilities: { add_capabilities: security.addCapabilities, drop_capabilities: security.dropCapabilities },
    privileged: security.privileged,
    namespace_options: namespaceMessage(security.namespaces),
    ...(security.runAsUser !== undefined && { run_as_user: { value: security.runAsUser } }),
    ...(security.runAsGroup !== undefined && { run_as_group: { value: security.runAsGroup } }),
    ...(security.runAsUsername !== undefined && { run_as_username: security.runAsUsername }),
    readonly_rootfs: security.readonlyRootfs,
    supplemental_groups: security.supplementalGroups,
    supplemental_groups_policy: GROUPS_POLICY[security.supplementalGroupsPolicy],
    no_new_privs: security.noNewPrivileges,
    masked_paths: security.maskedPaths,
    readonly_paths: security.readonlyPaths,
    seccomp: seccompMessage(security.seccomp),
  }
}

const seccompMessage = (profile: SeccompProfile) => ({
  profile_type: PROFILE_TYPE[profile.type],
  ...(profile.type === 'Localhost' && { localhost_ref: profile.path }),
})

const ids = (mappings: readonly IdMapping[]) =>
  mappings.map(({ hostId, containerId, length }) => ({ host_id: hostId, container_id: containerId, length }))

function namespaceMessage({ network, pid, ipc, user }: NamespaceOptions) {
  return {
    network: NAMESPACE_MODE[network],
    pid: NAMESPACE_MODE[pid],
    ipc: NAMESPACE_MODE[ipc],
    ...(user && { userns_options: { mode: NAMESPACE_MODE.POD, uids: ids(user.uids), gids: ids(user.gids) } }),
  }
}
