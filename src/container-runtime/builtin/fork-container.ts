/**
 * The processes of a start. The maker has the rights of this node while it makes the container, so no process of the pod
 * may see it: one with SYS_PTRACE could take it over. Of a PID namespace of its own the maker is the first process and
 * becomes the program. For a shared one it stays outside, gives up its rights and forks the program into it.
 */
import path from 'node:path'
import { openAs } from '../../linux/agent-files.ts'
import { CLONE, O } from '../../linux/mounts.ts'
import type { Agent, AgentChannel, Connection, SyscallAgents } from '../../linux/syscall-agent.ts'
import type { ContainerStart } from './container-start.ts'
import { userNamespacePath } from './pod-users.ts'
import { FD, prepareShim } from './shim.ts'
import { newSession } from './terminal.ts'

export interface Maker {
  readonly agent: Agent
  /** What drives the program, if that is a process of its own. */
  readonly program?: Connection
  /** Sockets that must stay open until the program runs. */
  readonly controls: readonly number[]
  /** The user namespace of a pod with its own users, to be entered last. */
  readonly users?: number
}

const NAMESPACE = { ipc: 0, uts: 1, net: 2, pid: 3, user: 4 } as const

/** In the namespaces of the container, but for its users. */
export async function forkMaker(agents: SyscallAgents, shim: AgentChannel, start: ContainerStart): Promise<Maker> {
  const { security, stdin, tty } = start.record.config
  const isShared = security.namespaces.pid === 'POD'
  const prepared = prepareShim(shim, { folder: start.folder, stdin, tty })
  const connection = agents.connect(shim, FD.childControl)
  const program = isShared ? agents.connect(shim, FD.programControl) : undefined
  const namespaces = namespacePaths(start)
  const opened = namespaces.map(([type, file]) => openAs(shim, FD.namespace + type, file, O.RDONLY))
  const flags = CLONE.NEWNS | (security.namespaces.pid === 'CONTAINER' ? CLONE.NEWPID : 0)
  const agent = await agents.forkFrom(shim, connection, flags)
  const { channel, control } = agent
  if (program) shim.tell('close', [program.descriptor])
  const users = namespaces.some(([type]) => type === NAMESPACE.user) ? FD.namespace + NAMESPACE.user : undefined
  const entered = namespaces
    .filter(([type]) => type !== NAMESPACE.user)
    .map(([type]) => channel.call('setns', [FD.namespace + type, 0]))
  try {
    await Promise.all([prepared, ...opened, ...entered, usePipes(channel, stdin, tty)])
  } catch (error) {
    channel.close()
    program?.drop()
    throw error
  }
  return {
    agent,
    controls: program ? [control, program.descriptor] : [control],
    ...(program && { program }),
    ...(users !== undefined && { users }),
  }
}

function usePipes(agent: AgentChannel, stdin: boolean, tty: boolean): Promise<unknown> {
  if (tty) return Promise.resolve()
  return Promise.all([
    ...(stdin ? [agent.call('dup3', [FD.stdinRead, 0, 0])] : []),
    agent.call('dup3', [FD.stdoutWrite, 1, 0]),
    agent.call('dup3', [FD.stderrWrite, 2, 0]),
  ])
}

function namespacePaths({ record, sandbox, sandboxFolder }: ContainerStart): (readonly [number, string])[] {
  const { namespaces } = record.config.security
  const file = (name: string) => path.join(sandboxFolder, 'ns', name)
  const paths: (readonly [number, string])[] = [[NAMESPACE.uts, file('uts')]]
  if (namespaces.ipc === 'POD') paths.push([NAMESPACE.ipc, file('ipc')])
  if (namespaces.network === 'POD' && sandbox.netnsPath) paths.push([NAMESPACE.net, sandbox.netnsPath])
  if (namespaces.pid === 'POD') paths.push([NAMESPACE.pid, file('pid')])
  if (sandbox.config.namespaces.user) paths.push([NAMESPACE.user, userNamespacePath(sandboxFolder)])
  return paths
}

/** The process that becomes the program: the maker itself, or its child, which is the shim's by CLONE_PARENT. */
export async function endMaker(
  agents: SyscallAgents,
  shim: AgentChannel,
  { agent, program }: Maker,
  hasTerminal: boolean,
): Promise<Agent> {
  if (!program) return agent
  const child = await agents.forkFrom(agent.channel, program, CLONE.PARENT)
  agent.channel.tell('exit_group', [0])
  shim.tell('wait4', [agent.pid, { out: 4 }, 0, null])
  child.channel.tell('close', [agent.control])
  await newSession(child.channel, hasTerminal)
  return child
}
