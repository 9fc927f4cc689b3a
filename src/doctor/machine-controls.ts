import { type Control, miss, notApplicable, pass, passIf, unknown } from './control.ts'
import type { MachineFacts } from './machine/facts.ts'

type Check = Control<MachineFacts>['check']

/** Without it a cluster does not run. */
const needed = (id: string, title: string, remedy: string, check: Check): Control<MachineFacts> => ({
  id,
  title,
  scored: true,
  remedy,
  check,
})

/** Without it a cluster does less. */
const wanted = (id: string, title: string, remedy: string, check: Check): Control<MachineFacts> => ({
  ...needed(id, title, remedy, check),
  scored: false,
})

const onLinux =
  (check: Check): Check =>
  (facts) =>
    facts.platform === 'linux' ? check(facts) : notApplicable('pods are simulated on this system')

const NAMESPACES = ['cgroup', 'ipc', 'mnt', 'net', 'pid', 'user', 'uts']
const CONTROLLERS = ['cpu', 'memory', 'pids']
const OLDEST_KERNEL = [5, 10] as const
const GIGABYTE = 1e9
const LEAST_DISK = 2 * GIGABYTE
const LEAST_MEMORY = 0.25 * GIGABYTE

const gigabytes = (bytes: number) => `${(bytes / GIGABYTE).toFixed(1)} GB`

/** Of versions such as 6.1.0-18-amd64. */
function isAtLeast(release: string, [major, minor]: readonly [number, number]): boolean {
  const [first = 0, second = 0] = release.replace(/^v/, '').split('.').map(Number.parseFloat)
  return first > major || (first === major && second >= minor)
}

const isSupportedNode = (version: string) => {
  const major = Number.parseInt(version.slice(1), 10)
  if (major === 20) return isAtLeast(version, [20, 19])
  return major === 22 ? isAtLeast(version, [22, 12]) : major >= 24
}

const missing = (all: readonly string[], found: readonly string[]) => all.filter((one) => !found.includes(one))

/** What a machine needs to run a cluster, the most basic first. */
export const machineControls: readonly Control<MachineFacts>[] = [
  needed('node', 'Node is recent enough', 'install Node 20.19, 22.12 or 24', ({ nodeVersion }) =>
    passIf(isSupportedNode(nodeVersion), nodeVersion),
  ),
  wanted('platform', 'Real pods can run', 'use Linux', ({ platform }) => passIf(platform === 'linux', platform)),
  wanted(
    'kernel',
    'The kernel is recent enough',
    'use Linux 5.10 or newer',
    onLinux(({ kernel }) => passIf(isAtLeast(kernel, OLDEST_KERNEL), kernel)),
  ),
  needed(
    'namespaces',
    'The kernel has all namespaces that containers need',
    'use a kernel with namespaces',
    onLinux(({ namespaces }) => {
      const without = missing(NAMESPACES, namespaces)
      return without.length > 0 ? miss(`missing: ${without.join(', ')}`) : pass(NAMESPACES.join(', '))
    }),
  ),
  needed(
    'user-namespaces',
    'User namespaces can be made, unless root runs the cluster',
    'sysctl -w user.max_user_namespaces=10000 kernel.unprivileged_userns_clone=1',
    onLinux(({ userNamespaces: { most, isForEveryone }, isRoot }) => {
      const evidence = `at most ${most}, ${isForEveryone ? 'for every user' : 'for root alone'}`
      return passIf(isRoot || (most > 0 && isForEveryone), evidence)
    }),
  ),
  wanted(
    'cgroups',
    'Limits of pods can be enforced',
    'mount cgroup2 at /sys/fs/cgroup, and delegate cpu, memory and pids to your user',
    onLinux(({ cgroupVersion, cgroupControllers }) => {
      if (cgroupVersion === undefined) return miss('there is no cgroup file system')
      const without = missing(CONTROLLERS, cgroupControllers)
      const evidence = `version ${cgroupVersion}: ${cgroupControllers.join(', ') || 'no controllers'}`
      return passIf(
        without.length === 0,
        without.length === 0 ? evidence : `${evidence}; missing: ${without.join(', ')}`,
      )
    }),
  ),
  needed(
    'overlay',
    'Layers of images can be stacked',
    'modprobe overlay',
    onLinux(({ fileSystems }) =>
      passIf(fileSystems.includes('overlay'), fileSystems.includes('overlay') ? 'overlay' : 'no overlay file system'),
    ),
  ),
  needed(
    'nftables',
    'Services can be reached by nftables',
    'modprobe nf_tables, or sampan up --proxy-mode userspace',
    onLinux(({ hasNftables }) => {
      if (hasNftables === undefined) return unknown('only root can tell')
      return passIf(hasNftables, hasNftables ? 'the kernel answers' : 'the kernel does not know nf_tables')
    }),
  ),
  wanted(
    'iptables',
    'Services can be reached by iptables',
    'apt install iptables, if you want sampan up --proxy-mode iptables',
    onLinux(({ iptablesPath }) => passIf(iptablesPath !== undefined, iptablesPath ?? 'no iptables-restore in PATH')),
  ),
  needed(
    'disk',
    'There is room on the disk',
    'free space, or choose another place with --data-dir',
    ({ freeDiskBytes }) => passIf(freeDiskBytes >= LEAST_DISK, `${gigabytes(freeDiskBytes)} free`),
  ),
  wanted('memory', 'There is room in memory', 'stop other programs', ({ freeMemoryBytes }) =>
    passIf(freeMemoryBytes >= LEAST_MEMORY, `${gigabytes(freeMemoryBytes)} free`),
  ),
  needed('data-directory', 'The data directory is for its owner alone', 'chmod 700 DIRECTORY', ({ dataDir }) => {
    if (!dataDir) return notApplicable('it is made by the first start')
    const { path, mode, isOwn } = dataDir
    const evidence = `${path} has mode ${mode.toString(8)}${isOwn ? '' : ' and belongs to another user'}`
    return passIf(isOwn && (mode & 0o077) === 0, evidence)
  }),
  needed(
    'api-port',
    'The port of the API is free, or used by the cluster',
    'sampan up --api-port 0',
    ({ apiPort, server }) => {
      if (server) return pass(`port ${apiPort.number} is used by process ${server.pid} of this cluster`)
      return passIf(
        !apiPort.isTaken,
        `port ${apiPort.number} is ${apiPort.isTaken ? 'used by another program' : 'free'}`,
      )
    },
  ),
  needed('server', 'The API server is ready', 'sampan logs', ({ server }) =>
    server
      ? passIf(server.readyStatus === 200, `process ${server.pid}: /readyz ${server.readyStatus || 'does not answer'}`)
      : notApplicable('no cluster runs'),
  ),
]
