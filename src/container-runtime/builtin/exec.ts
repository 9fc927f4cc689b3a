/** A command in a running container: an agent enters the container's namespaces, its child becomes the command. */
import type { Clock } from '../../base/clock.ts'
import type { Cgroups } from '../../linux/cgroups.ts'
import { CLONE } from '../../linux/mounts.ts'
import { type Agent, type AgentChannel, AgentGone, type SyscallAgents } from '../../linux/syscall-agent.ts'
import { LinuxError } from '../../linux/system-error.ts'
import { type ExecOptions, type ExecSession, RuntimeError } from '../runtime.ts'
import { pipeStreams, type Streams, terminalStreams } from './exec-streams.ts'
import { becomeProgram } from './program.ts'
import type { StartRecord } from './records.ts'
import { becomeContainer, enterWorkingFolder, hasOwnUserNamespace, killQuietly } from './start-container.ts'
import { openTerminal, takeTerminal } from './terminal.ts'
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

const CHILD_CONTROL = 29
/** How long output is awaited that processes in the background may still write. */
const DRAIN_MS = 1000

export async function execInContainer(
  machine: ExecMachine,
  target: ExecTarget,
  options: ExecOptions,
): Promise<ExecSession> {
  if (options.command.length === 0) throw new RuntimeError('InvalidArgument', 'exec: no command')
  const parent = await machine.agents.fork()
  const control = machine.agents.connect(parent.channel, CHILD_CONTROL)
  let streams: Streams | undefined
  try {
    if (!options.tty) streams = await pipeStreams(parent, options)
    await enterContainer(parent.channel, target, machine.rootless)
    const terminal = options.tty ? await openTerminal(parent.channel) : undefined
    const child = await machine.agents.forkFrom(parent.channel, control)
    if (terminal) streams = await terminalStreams(machine.agents, parent, terminal, options)
    else parent.channel.tell('close_range', [0, 2, 0])
    await becomeCommand(machine, child, target, options, terminal?.slave)
    return sessionOf(machine.clock, parent.channel, child.pid, streams!, options.signal)
  } catch (error) {
    parent.channel.close()
    control.drop()
    streams?.close()
    throw inWords(error)
  }
}

function inWords(error: unknown): unknown {
  if (error instanceof RuntimeError)
    return new RuntimeError(error.code, `failed to exec in container: ${error.message}`, { cause: error })
  if (!(error instanceof LinuxError || error instanceof AgentGone)) return error
  return new RuntimeError('FailedPrecondition', `failed to exec in container: ${error.message}`, { cause: error })
}

async function enterContainer(parent: AgentChannel, target: ExecTarget, rootless: boolean): Promise<void> {
  const process = await parent.call('pidfd_open', [target.started.pid, 0])
  const types = CLONE.NEWNS | CLONE.NEWNET | CLONE.NEWIPC | CLONE.NEWUTS | CLONE.NEWCGROUP
  const hasUsers = target.ownUsers || hasOwnUserNamespace(target.started.process, rootless)
  const user = hasUsers ? CLONE.NEWUSER : 0
  await parent.call('setns', [process, types | user | (target.hostPid ? 0 : CLONE.NEWPID)])
  parent.tell('close', [process])
  // A terminal belongs to whoever opens it.
  if (target.ownUsers) await Promise.all([parent.call('setresgid', [0, 0, 0]), parent.call('setresuid', [0, 0, 0])])
}

async function becomeCommand(
  machine: ExecMachine,
  child: Agent,
  target: ExecTarget,
  options: ExecOptions,
  slave: number | undefined,
): Promise<void> {
  const { channel, pid } = child
  const settings = target.started.process
  try {
    const joined = machine.cgroups.join(target.cgroup, pid)
    joined.catch(() => {})
    await Promise.all([channel.call('setsid'), slave === undefined ? undefined : takeTerminal(channel, slave)])
    await enterWorkingFolder(channel, settings.cwd)
    // A member of the group before it can do anything: limits hold for commands too.
    await joined
    await Promise.all(becomeContainer(channel, settings, machine.rootless))
    const env = options.tty
      ? [...settings.env.filter((entry) => !entry.startsWith('TERM=')), 'TERM=xterm']
      : settings.env
    await becomeProgram(channel, options.command, env)
  } catch (error) {
    killQuietly(pid)
    throw error
  } finally {
    channel.close()
  }
}

function sessionOf(
  clock: Clock,
  parent: AgentChannel,
  pid: number,
  streams: Streams,
  signal: AbortSignal | undefined,
): ExecSession {
  const kill = () => {
    killQuietly(-pid)
    killQuietly(pid)
  }
  const exited = exitCode(parent, pid).then(async (code) => {
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
