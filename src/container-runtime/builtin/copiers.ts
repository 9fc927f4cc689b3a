import path from 'node:path'
import { openAs } from '../../linux/agent-files.ts'
import { O } from '../../linux/mounts.ts'
import type { Agent, AgentChannel, SyscallAgents } from '../../linux/syscall-agent.ts'
import type { ContainerStart } from './container-start.ts'
import { FD, FILES } from './shim.ts'
import { type Terminal, takeDescriptor } from './terminal.ts'

const PR_SET_PDEATHSIG = 1
const SIGKILL = 9

/** Processes beside the shim that move a terminal's bytes, or keep a standard input open until its end is told. */
export async function startCopiers(
  agents: SyscallAgents,
  shim: Agent,
  child: Agent,
  start: ContainerStart,
  terminal: Terminal | undefined,
): Promise<{ pid: number; descriptor: number } | undefined> {
  const { stdin, stdinOnce } = start.record.config
  if (terminal) {
    const output = await forkCopier(agents, shim.channel, [FD.stdinRead, FD.stdinWrite])
    const master = await takeDescriptor(output.channel, child.pid, terminal.master)
    output.channel.tellCopy(master, FD.stdoutWrite)
    letGo(output.channel)
    if (stdin) {
      const input = await forkCopier(agents, shim.channel, [FD.stdoutWrite, FD.stdinRead])
      input.channel.tellCopy(FD.stdinWrite, await takeDescriptor(input.channel, child.pid, terminal.master))
      letGo(input.channel)
    }
    return { pid: output.pid, descriptor: master }
  }
  if (stdin && stdinOnce) {
    const holder = await forkCopier(agents, shim.channel, [FD.stdoutWrite, FD.stderrWrite, FD.stdinRead])
    await openAs(holder.channel, FD.namespace, path.join(start.folder, FILES.stdinEnd), O.RDWR)
    holder.channel.tell('read', [FD.namespace, { out: 8 }, 1])
    letGo(holder.channel)
  }
  return undefined
}

async function forkCopier(agents: SyscallAgents, shim: AgentChannel, unused: readonly number[]): Promise<Agent> {
  const copier = await agents.forkFrom(shim, agents.connect(shim, FD.childControl))
  copier.channel.tell('prctl', [PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0])
  for (const fd of [FD.alive, FD.exit, FD.release, SHIM_CONTROL, ...unused]) copier.channel.tell('close', [fd])
  return copier
}

/** The control descriptor of a forked agent. */
const SHIM_CONTROL = 10

function letGo(channel: AgentChannel): void {
  channel.tell('exit_group', [0])
  channel.close()
}
