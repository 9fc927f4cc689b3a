/**
 * A command in a running container. The processes there may be hostile, so none of them sees an agent that has more rights
 * than they have:
 *
 *   parent   stays outside, waits for the command and tells how it ended
 *   maker    enters the namespaces but that of processes, which only its children are in; takes the container's rights
 *   command  the maker's child and, by CLONE_PARENT, the parent's: born with these rights and nothing open
 */
import type { Clock } from '../../base/clock.ts'
import type { Cgroups } from '../../linux/cgroups.ts'
import { CLONE } from '../../linux/mounts.ts'
import { type Agent, type AgentChannel, AgentGone, type SyscallAgents } from '../../linux/syscall-agent.ts'
import { LinuxError } from '../../linux/system-error.ts'
import { type ExecOptions, type ExecSession, RuntimeError } from '../runtime.ts'
import { becomeContainer, enterWorkingFolder, hasOwnUserNamespace } from './become-container.ts'
import { pipeStreams, type Streams, terminalStreams } from './exec-streams.ts'
import { becomeProgram } from './program.ts'
import { isStillThere, type StartRecord } from './records.ts'
import { killQuietly } from './start-container.ts'
import { newSession, openTerminal, useTerminal } from './terminal.ts'
import { within } from './within.ts'

export interface ExecTarget {
  readonly started: StartRecord
  readonly cgroup: string
  /** It shares the node's processes: there is no PID namespace to enter. */
  readonly hostPid: boolean
  /** Its pod has users of its own. */
  readonly ownUsers: boolean
}

export interface ExecMachine {
  readonly agents: SyscallAgents
  readonly cgroups: Cgroups
  readonly clock: Clock
  readonly rootless: boolean
}

const MAKER_CONTROL = 28
const COMMAND_CONTROL = 29
/** How long output is awaited that processes in the background may still write. */
const DRAIN_MS = 1000

export async function execInContainer(
  machine: ExecMachine,
  target: ExecTarget,
  options: ExecOptions,
): Promise<ExecSession> {
  if (options.command.length === 0) throw new RuntimeError('InvalidArgument', 'exec: no command')
  const { agents } = machine
  const parent = await agents.fork()
  const connection = agents.connect(parent.channel, COMMAND_CONTROL)
  let streams: Streams | undefined
  let maker: Agent | undefined
  let command: Agent | undefined
  try {
    if (!options.tty) streams = await pipeStreams(parent, options)
    maker = await agents.forkFrom(parent.channel, agents.connect(parent.channel, MAKER_CONTROL))
    parent.channel.tell('close', [COMMAND_CONTROL])
    parent.channel.tell('close_range', [0, 2, 0])
    const terminal = await enterContainer(machine, maker, target, options)
    if (terminal) streams = await terminalStreams(agents, maker, terminal, options)
    await becomeContainer(maker.channel, target.started.process, machine.rootless, [MAKER_CONTROL, COMMAND_CONTROL])
    command = await agents.forkFrom(maker.channel, connection, CLONE.PARENT)
    maker.channel.tell('exit_group', [0])
    parent.channel.tell('wait4', [maker.pid, { out: 4 }, 0, null])
    await becomeCommand(command.channel, target, options)
    return sessionOf(machine.clock, parent.channel, command.pid, streams!, options.signal)
  } catch (error) {
    for (const agent of [maker, command]) if (agent) killQuietly(agent.pid)
    parent.channel.close()
    if (!command) connection.drop()
    streams?.close()
    throw inWords(error)
  } finally {
    maker?.channel.close()
    command?.channel.close()
  }
}

function inWords(error: unknown): unknown {
  if (error instanceof RuntimeError)
    return new RuntimeError(error.code, `failed to exec in container: ${error.message}`, { cause: error })
  if (!(error instanceof LinuxError || error instanceof AgentGone)) return error
  return new RuntimeError('FailedPrecondition', `failed to exec in container: ${error.message}`, { cause: error })
}

/** Resolves to the command's terminal, if it has one. */
async function enterContainer(
  { cgroups, rootless }: ExecMachine,
  { channel: maker, pid }: Agent,
  target: ExecTarget,
  { tty }: ExecOptions,
) {
  const { started } = target
  // A member of the group before it can do anything: limits hold for commands too.
  const joined = cgroups.join(target.cgroup, pid)
  joined.catch(() => {})
  const process = await maker.call('pidfd_open', [started.pid, 0])
  if (!isStillThere(started)) throw new RuntimeError('FailedPrecondition', 'the container has ended')
  const types = CLONE.NEWNS | CLONE.NEWNET | CLONE.NEWIPC | CLONE.NEWUTS | CLONE.NEWCGROUP
  const hasUsers = target.ownUsers || hasOwnUserNamespace(started.process, rootless)
  const user = hasUsers ? CLONE.NEWUSER : 0
  await maker.call('setns', [process, types | user | (target.hostPid ? 0 : CLONE.NEWPID)])
  // A terminal belongs to the user that opens it.
  if (target.ownUsers) await Promise.all([maker.call('setresgid', [0, 0, 0]), maker.call('setresuid', [0, 0, 0])])
  const terminal = tty ? await openTerminal(maker) : undefined
  if (terminal) await useTerminal(maker, terminal.slave)
  await enterWorkingFolder(maker, started.process.cwd)
  await joined
  return terminal
}

async function becomeCommand(command: AgentChannel, { started }: ExecTarget, options: ExecOptions): Promise<void> {
  const { env } = started.process
  command.tell('close', [MAKER_CONTROL])
  await newSession(command, options.tty === true)
  const withTerminal = () => [...env.filter((entry) => !entry.startsWith('TERM=')), 'TERM=xterm']
  await becomeProgram(command, options.command, options.tty ? withTerminal() : env)
}

function sessionOf(
  clock: Clock,
  parent: AgentChannel,
  pid: number,
  streams: Streams,
  signal: AbortSignal | undefined,
): ExecSession {
  let hasEnded = false
  const kill = () => {
    // Its number may be that of another process by then.
    if (hasEnded) return
    killQuietly(-pid)
    killQuietly(pid)
  }
  const exited = exitCode(parent, pid).then(async (code) => {
    hasEnded = true
    signal?.removeEventListener('abort', kill)
    await within(clock, DRAIN_MS, streams.ended)
    return code
  })
  exited.catch(() => {})
  if (signal?.aborted) kill()
  signal?.addEventListener('abort', kill, { once: true })
  const { stdin, stdout, stderr, resize } = streams
  return {
    stdin,
    stdout,
    stderr,
    exited,
    resize,
    async close() {
      kill()
      await exited.catch(() => {})
      streams.close()
    },
  }
}

async function exitCode(parent: AgentChannel, pid: number): Promise<number> {
  try {
    const { bytes } = await parent.answer('wait4', [pid, { out: 4 }, 0, null])
    return codeOfStatus(bytes.readInt32LE(0))
  } finally {
    parent.close()
  }
}

/** As a shell says it: the code, or 128 and the number of the signal. */
export const codeOfStatus = (status: number) => (status & 0x7f ? 128 + (status & 0x7f) : (status >> 8) & 0xff)
