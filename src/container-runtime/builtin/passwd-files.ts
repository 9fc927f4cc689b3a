import { O, openResolved } from '../../linux/mounts.ts'
import type { AgentChannel } from '../../linux/syscall-agent.ts'
import type { Passwd } from './identity.ts'

const MAX_SIZE = 1 << 20

/** Read inside the container's root before it has volumes: these are the image's own. A fifo or a device is no such file. */
export async function readPasswdFiles(agent: AgentChannel): Promise<Passwd> {
  const [passwd, group] = await Promise.all([readSmall(agent, '/etc/passwd'), readSmall(agent, '/etc/group')])
  return { passwd, group }
}

async function readSmall(agent: AgentChannel, file: string): Promise<string> {
  void openResolved(agent, file, O.RDONLY | O.NONBLOCK | O.NOCTTY, { keep: true })
  const options = { useKept: true, soft: true, resultLength: true }
  const content = agent.answer('pread64', [0, { out: MAX_SIZE }, MAX_SIZE, 0], options)
  agent.tell('close', [0], { useKept: true })
  const { result, bytes } = await content
  return result > 0 ? bytes.toString() : ''
}
