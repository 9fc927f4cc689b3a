import type { Pod } from '../../api/generated/core-v1.ts'
import type { PodSandboxConfig, PortMapping } from '../../container-runtime/sandbox-config.ts'
import { type DnsSettings, podDns } from '../environment/dns.ts'
import { kernelHostname, podHostname } from '../environment/hostname.ts'
import { sandboxLabels } from '../pod/runtime-labels.ts'
import { podLogDirectory } from './pod-paths.ts'
import { cgroupParent, podResources } from './resources.ts'
import { isPrivileged, podNamespaces } from './security.ts'
import type { UserNamespaces } from './user-namespaces.ts'

export interface SandboxSettings {
  readonly nodeName: string
  readonly dns: DnsSettings
  readonly podLogsDir: string
  readonly podPidsLimit?: number | undefined
  readonly userNamespaces: Pick<UserNamespaces, 'of'>
}

export function sandboxConfig(
  pod: Pod,
  attempt: number,
  settings: SandboxSettings,
  runtimeHandler = '',
): PodSandboxConfig {
  const { nodeName, dns, podLogsDir, podPidsLimit: pidsLimit } = settings
  const { name = '', namespace = '', uid = '' } = pod.metadata
  // Whoever shares the network of the node has its name too.
  const hostname = pod.spec?.hostNetwork ? nodeName : kernelHostname(pod, podHostname(pod, dns.clusterDomain))
  return {
    metadata: { name, namespace, uid, attempt },
    hostname,
    logDirectory: podLogDirectory(podLogsDir, pod),
    dns: podDns(pod, dns),
    portMappings: pod.spec?.hostNetwork ? [] : portMappings(pod),
    labels: sandboxLabels(pod),
    annotations: pod.metadata.annotations ?? {},
    cgroupParent: cgroupParent(pod),
    resources: { ...podResources(pod), ...(pidsLimit !== undefined && { pidsLimit }) },
    sysctls: Object.fromEntries((pod.spec?.securityContext?.sysctls ?? []).map((one) => [one.name, one.value])),
    namespaces: podNamespaces(pod, settings.userNamespaces.of(pod)),
    privileged: isPrivileged(pod),
    ...(runtimeHandler && { runtimeHandler }),
  }
}

function portMappings({ spec }: Pod): PortMapping[] {
  const all = [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])]
  return all.flatMap(({ ports = [] }) =>
    ports.flatMap(({ containerPort, hostPort, hostIP, protocol = 'TCP' }) => {
      if (!hostPort) return []
      const mapping = { protocol: protocol as PortMapping['protocol'], containerPort, hostPort }
      return [hostIP ? { ...mapping, hostIp: hostIP } : mapping]
    }),
  )
}
