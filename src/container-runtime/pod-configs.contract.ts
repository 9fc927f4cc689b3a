/** Configurations as the kubelet writes them, for the tests of a runtime. */
import type { ContainerConfig, SecurityContext } from './container-config.ts'
import type { PodSandboxConfig } from './sandbox-config.ts'

type Deep<T> = {
  readonly [K in keyof T]?: T[K] extends readonly unknown[] ? T[K] : T[K] extends object ? Partial<T[K]> : T[K]
}
export type ContainerChanges = Omit<Partial<ContainerConfig>, 'security'> & {
  readonly security?: Partial<SecurityContext>
}
export type SandboxChanges = Deep<PodSandboxConfig>

/** What containerd hides and protects; the kubelet passes the same. */
const MASKED = ['/proc/asound', '/proc/acpi', '/proc/kcore', '/proc/keys', '/proc/latency_stats', '/proc/timer_list']
const READONLY = ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger']

let pods = 0
let logs = 0

export function sandboxConfig(logDirectory: string, changes: SandboxChanges = {}): PodSandboxConfig {
  const uid = `test-${process.pid}-${pods++}`
  return {
    hostname: 'web-0',
    logDirectory,
    portMappings: [],
    labels: {},
    annotations: {},
    cgroupParent: `/kubepods/burstable/pod${uid}`,
    sysctls: {},
    ...changes,
    metadata: { name: 'web-0', namespace: 'default', uid, attempt: 0, ...changes.metadata },
    dns: { servers: ['10.96.0.10'], searches: ['default.svc.cluster.local'], options: ['ndots:5'], ...changes.dns },
    namespaces: { network: 'POD', pid: 'CONTAINER', ipc: 'POD', ...changes.namespaces },
  } as PodSandboxConfig
}

export function containerConfig(
  under: { readonly imageId: string; readonly image: string },
  command: readonly string[],
  changes: ContainerChanges = {},
): ContainerConfig {
  return {
    name: 'main',
    attempt: 0,
    imageId: under.imageId,
    image: under.image,
    command,
    args: [],
    workingDir: '',
    env: [],
    mounts: [],
    devices: [],
    labels: {},
    annotations: {},
    logPath: `main/${logs++}.log`,
    stdin: false,
    stdinOnce: false,
    tty: false,
    resources: {},
    ...changes,
    security: {
      privileged: false,
      namespaces: { network: 'POD', pid: 'CONTAINER', ipc: 'POD' },
      supplementalGroups: [],
      supplementalGroupsPolicy: 'Merge',
      readonlyRootfs: false,
      noNewPrivileges: false,
      addCapabilities: [],
      dropCapabilities: [],
      seccomp: { type: 'RuntimeDefault' },
      maskedPaths: MASKED,
      readonlyPaths: READONLY,
      ...changes.security,
    },
  }
}
