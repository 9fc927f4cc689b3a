/** A pod's shared namespaces, kept alive by files they are mounted on: no process waits in a sandbox. */
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { openAs, writeFileBy } from '../../linux/agent-files.ts'
import { CLONE, MNT_DETACH, MS, O } from '../../linux/mounts.ts'
import type { AgentChannel, SyscallAgents } from '../../linux/syscall-agent.ts'
import { RuntimeError } from '../runtime.ts'
import type { DnsConfig, PodSandboxConfig } from '../sandbox-config.ts'
import { rootOf, userNamespacePath } from './pod-users.ts'
import { removeFolder } from './records.ts'

const SHARED_MEMORY = 'mode=1777,size=65536k'

/** Where the /proc of a shared PID namespace is mounted. */
export const sharedProcPath = (folder: string) => path.join(folder, 'proc')

/** Makes the folder's namespaces. */
export async function makeSandbox(
  agents: SyscallAgents,
  folder: string,
  config: PodSandboxConfig,
  netnsPath: string | undefined,
): Promise<void> {
  mkdirSync(path.join(folder, 'ns'), { recursive: true, mode: 0o711 })
  mkdirSync(path.join(folder, 'shm'))
  writeFileSync(path.join(folder, 'hostname'), `${config.hostname}\n`)
  writeFileSync(path.join(folder, 'resolv.conf'), resolvConf(config.dns))
  const { ipc, user } = config.namespaces
  const flags = CLONE.NEWUTS | (ipc === 'POD' ? CLONE.NEWIPC : 0)
  const { channel, pid } = await agents.fork(user ? 0 : flags)
  try {
    if (user) await becomeRootOf(channel, folder, flags)
    await furnish(channel, user ? { agent: agents.host, pid: String(pid) } : { agent: channel, pid: 'self' }, {
      folder,
      config,
      netnsPath,
    })
  } finally {
    channel.close()
  }
}

/** What is made now belongs to the users of the pod. */
async function becomeRootOf(agent: AgentChannel, folder: string, flags: number): Promise<void> {
  await Promise.all([
    openAs(agent, 21, userNamespacePath(folder), O.RDONLY),
    agent.call('setns', [21, CLONE.NEWUSER]),
    agent.call('setresgid', [0, 0, 0]),
    agent.call('setresuid', [0, 0, 0]),
    agent.call('unshare', [flags]),
  ])
}

/** Who may mount on the node, and how it calls the process whose namespaces these are. */
interface Keeper {
  readonly agent: AgentChannel
  readonly pid: string
}

interface Furnishing {
  readonly folder: string
  readonly config: PodSandboxConfig
  readonly netnsPath: string | undefined
}

async function furnish(agent: AgentChannel, keeper: Keeper, furnishing: Furnishing): Promise<void> {
  const { folder, config, netnsPath } = furnishing
  const { ipc, user } = config.namespaces
  const steps: Promise<unknown>[] = [
    agent.call('sethostname', [config.hostname, Buffer.byteLength(config.hostname)]),
    keep(keeper, folder, 'uts'),
  ]
  if (ipc === 'POD') {
    steps.push(keep(keeper, folder, 'ipc'))
    const flags = MS.NOSUID | MS.NODEV | MS.NOEXEC
    const options = user ? `${SHARED_MEMORY},uid=${rootOf(user).uid},gid=${rootOf(user).gid}` : SHARED_MEMORY
    steps.push(keeper.agent.call('mount', ['shm', path.join(folder, 'shm'), 'tmpfs', flags, options]))
  }
  if (netnsPath) {
    steps.push(openAs(agent, 20, netnsPath, O.RDONLY))
    steps.push(agent.call('setns', [20, CLONE.NEWNET]))
  }
  await Promise.all(steps)
  for (const [name, value] of Object.entries(config.sysctls)) await setSysctl(agent, name, value)
}

/** Namespaced settings are those of whoever writes them. */
async function setSysctl(agent: AgentChannel, name: string, value: string): Promise<void> {
  if (name.includes('/') && name.includes('..'))
    throw new RuntimeError('InvalidArgument', `sysctl "${name}" is not a name`)
  // A name may be written with slashes, and then a dot is part of it: net/ipv4/conf/eth0.1/forwarding.
  const file = name.includes('/') ? name : name.replaceAll('.', '/')
  try {
    await writeFileBy(agent, `/proc/sys/${file}`, value)
  } catch (error) {
    throw new RuntimeError('InvalidArgument', `sysctl "${name}": ${(error as Error).message}`, { cause: error })
  }
}

export function keep({ agent, pid }: Keeper, folder: string, name: string): Promise<number> {
  const file = path.join(folder, 'ns', name)
  writeFileSync(file, '')
  return agent.call('mount', [`/proc/${pid}/ns/${name}`, file, null, MS.BIND, null])
}

/** Whether each file is still one that a namespace is mounted on; those all belong to one device. */
export function keepsNamespaces(folder: string): boolean {
  const { dev } = statSync('/proc/self/ns/uts')
  const files = path.join(folder, 'ns')
  return existsSync(files) && readdirSync(files).every((name) => statSync(path.join(files, name)).dev === dev)
}

/** Lets go of the namespaces; the kernel ends each when its last user has gone. */
export async function unmountSandbox(agents: SyscallAgents, folder: string): Promise<void> {
  const places = ['ns/ipc', 'ns/uts', 'ns/pid', 'ns/net', 'ns/user', 'shm', 'proc'].map((name) =>
    path.join(folder, name),
  )
  await Promise.all(places.map((place) => agents.host.call('umount2', [place, MNT_DETACH], { soft: true })))
  await removeFolder(path.join(folder, 'ns'))
}

function resolvConf(dns: DnsConfig): string {
  const lines: string[] = []
  if (dns.searches.length > 0) lines.push(`search ${dns.searches.join(' ')}`)
  for (const server of dns.servers) lines.push(`nameserver ${server}`)
  if (dns.options.length > 0) lines.push(`options ${dns.options.join(' ')}`)
  return lines.map((line) => `${line}\n`).join('')
}
