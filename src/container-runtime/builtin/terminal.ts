import { O, openResolved, RESOLVE_NO_SYMLINKS } from '../../linux/mounts.ts'
import type { AgentChannel, SyscallAgents } from '../../linux/syscall-agent.ts'
import { LinuxError } from '../../linux/system-error.ts'
import { RuntimeError } from '../runtime.ts'

const TIOCSPTLCK = 0x40045431
const TIOCGPTPEER = 0x5441
const TIOCSWINSZ = 0x5414
const TIOCSCTTY = 0x540e
const DEVPTS_MAGIC = 0x1cd1
const FLAGS = O.RDWR | O.NOCTTY | O.CLOEXEC

export interface Terminal {
  readonly master: number
  readonly slave: number
}

/** A terminal of the container's own. `pts` is its devpts. */
export async function newTerminal(agent: AgentChannel, pts: number): Promise<Terminal> {
  return unlocked(agent, await agent.call('openat', [pts, 'ptmx', FLAGS, 0]))
}

/**
 * A terminal for a command in a running container, which may have placed anything at this path: it must not block, must
 * not lead through a link, and must be what it says.
 */
export async function openTerminal(agent: AgentChannel): Promise<Terminal> {
  const master = await openResolved(agent, '/dev/pts/ptmx', FLAGS | O.NONBLOCK, { resolve: RESOLVE_NO_SYMLINKS })
  if (master < 0) throw new LinuxError(-master, '/dev/pts/ptmx')
  const { bytes } = await agent.answer('fstatfs', [master, { out: 120 }])
  if (Number(bytes.readBigUInt64LE(0)) !== DEVPTS_MAGIC)
    throw new RuntimeError('Internal', '/dev/pts/ptmx is no terminal')
  const F_SETFL = 4
  await agent.call('fcntl', [master, F_SETFL, O.RDWR])
  return unlocked(agent, master)
}

async function unlocked(agent: AgentChannel, master: number): Promise<Terminal> {
  const [, slave] = await Promise.all([
    agent.call('ioctl', [master, TIOCSPTLCK, Buffer.alloc(4)]),
    agent.call('ioctl', [master, TIOCGPTPEER, FLAGS]),
  ])
  return { master, slave }
}

/** The standard streams become the terminal; it belongs to `owner`. */
export function useTerminal(agent: AgentChannel, slave: number, owner?: number): Promise<unknown> {
  return Promise.all([
    ...(owner === undefined ? [] : [agent.call('fchown', [slave, owner, -1])]),
    ...[0, 1, 2].map((fd) => agent.call('dup3', [slave, fd, 0])),
  ])
}

/** A session of its own, with the terminal that its standard input is. */
export function newSession(agent: AgentChannel, hasTerminal: boolean): Promise<unknown> {
  return Promise.all([agent.call('setsid'), ...(hasTerminal ? [agent.call('ioctl', [0, TIOCSCTTY, 0])] : [])])
}

export function resizeTerminal(
  agent: AgentChannel,
  master: number,
  size: { readonly width: number; readonly height: number },
): Promise<number> {
  const bytes = Buffer.alloc(8)
  bytes.writeUInt16LE(size.height & 0xffff, 0)
  bytes.writeUInt16LE(size.width & 0xffff, 2)
  return agent.call('ioctl', [master, TIOCSWINSZ, bytes])
}

/** A descriptor of another process, taken over by an agent. */
export async function takeDescriptor(agent: AgentChannel, pid: number, descriptor: number): Promise<number> {
  const process = await agent.call('pidfd_open', [pid, 0])
  return agent.call('pidfd_getfd', [process, descriptor, 0])
}

/** For a terminal that some other process holds: an agent borrows it for this one call. */
export async function resizeTerminalOf(
  agents: SyscallAgents,
  holder: { readonly pid: number; readonly descriptor: number },
  size: { readonly width: number; readonly height: number },
): Promise<void> {
  const { channel } = await agents.fork()
  try {
    await resizeTerminal(channel, await takeDescriptor(channel, holder.pid, holder.descriptor), size)
  } finally {
    channel.close()
  }
}
