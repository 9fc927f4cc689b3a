import { AT_FDCWD, O } from '../../linux/mounts.ts'
import type { AgentChannel, SyscallAgents } from '../../linux/syscall-agent.ts'
import { RuntimeError } from '../runtime.ts'

const TIOCSPTLCK = 0x40045431
const TIOCGPTPEER = 0x5441
const TIOCSWINSZ = 0x5414
const TIOCSCTTY = 0x540e
const DEVPTS_MAGIC = 0x1cd1

export interface Terminal {
  readonly master: number
  readonly slave: number
}

/**
 * A terminal of the container's own, by an agent inside it. The container may have placed anything at this path, so it
 * must not block and must be what it says.
 */
export async function openTerminal(agent: AgentChannel): Promise<Terminal> {
  const flags = O.RDWR | O.NOCTTY | O.CLOEXEC
  const master = await agent.call('openat', [AT_FDCWD, '/dev/pts/ptmx', flags | O.NONBLOCK, 0])
  const { bytes } = await agent.answer('fstatfs', [master, { out: 120 }])
  if (Number(bytes.readBigUInt64LE(0)) !== DEVPTS_MAGIC)
    throw new RuntimeError('Internal', '/dev/pts/ptmx is no terminal')
  const F_SETFL = 4
  const [, , slave] = await Promise.all([
    agent.call('fcntl', [master, F_SETFL, O.RDWR]),
    agent.call('ioctl', [master, TIOCSPTLCK, Buffer.alloc(4)]),
    agent.call('ioctl', [master, TIOCGPTPEER, flags]),
  ])
  return { master, slave }
}

/** The agent's session gets the terminal, and its standard streams are the terminal. */
export function takeTerminal(agent: AgentChannel, slave: number, owner?: number): Promise<unknown> {
  return Promise.all([
    ...(owner === undefined ? [] : [agent.call('fchown', [slave, owner, -1])]),
    agent.call('ioctl', [slave, TIOCSCTTY, 0]),
    ...[0, 1, 2].map((fd) => agent.call('dup3', [slave, fd, 0])),
  ])
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
