/** Files of an agent under descriptors we choose, so that whole sequences can be sent without waiting for an answer. */
import { AT_FDCWD, O } from './mounts.ts'
import type { AgentChannel } from './syscall-agent.ts'

const S_IFIFO = 0o010000

/** Opens a file as `descriptor`, which is closed when the agent becomes another program. */
export function openAs(
  agent: AgentChannel,
  descriptor: number,
  path: string,
  flags: number,
  mode = 0,
): Promise<number> {
  const opened = agent.call('openat', [AT_FDCWD, path, flags | O.CLOEXEC, mode], { keep: true })
  void agent.call('dup3', [0, descriptor, O.CLOEXEC], { useKept: true })
  agent.tell('close', [0], { useKept: true })
  return opened
}

export function makeFifo(agent: AgentChannel, path: string): Promise<number> {
  return agent.call('mknodat', [AT_FDCWD, path, S_IFIFO | 0o666, 0])
}

/** Writes a small file as one system call, as files of /proc/sys want it. */
export async function writeFileBy(agent: AgentChannel, path: string, content: string): Promise<void> {
  const opened = agent.call('openat', [AT_FDCWD, path, O.WRONLY | O.CLOEXEC, 0], { keep: true })
  const bytes = Buffer.from(content)
  const written = agent.call('write', [0, bytes, bytes.length], { useKept: true })
  agent.tell('close', [0], { useKept: true })
  await opened
  await written
}
