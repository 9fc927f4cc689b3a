/**
 * Processes that do the system calls they are told: a static program of some 600 bytes, assembled here. One of them, the
 * host agent, is started by Node; all others are its forks, which cost a tenth of a fork of Node. An agent can change its
 * namespaces, identity and root as no Node process could, and finally become a container.
 *
 * The program runs from a sealed memory file: nothing that it becomes or shares a namespace with can change it.
 */
import { mkdirSync, mkdtempSync, readlinkSync, rmSync } from 'node:fs'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { socketPath } from '../base/socket-path.ts'
import { AgentChannel } from './agent/channel.ts'
import { agentExecutable } from './agent/elf.ts'
import { FIRST_CONTROL, MEMORY } from './agent/layout.ts'
import { listenForAgents, type Rendezvous } from './agent/rendezvous.ts'
import { spawnAgent } from './agent/spawn.ts'
import { ownArchitecture } from './syscall-numbers.ts'

export { AgentChannel, AgentGone } from './agent/channel.ts'
export { ORPHAN_EXIT_CODE } from './agent/layout.ts'
export type { SyscallArgument } from './agent/request.ts'

/** How the link `exe` of an agent in /proc begins. */
export const AGENT_EXECUTABLE = '/memfd:sampan-agent'

/** Where the first argument that is not a number lies in the memory of the agent. */
export const AGENT_DATA = MEMORY.data

export interface Agent {
  /** As the agent that forked it sees it. */
  readonly pid: number
  readonly channel: AgentChannel
  /** Its own end of the channel. */
  readonly control: number
}

/** A descriptor of an agent that is connected to this process: what a fork is driven by, or a stream of bytes. */
export interface Connection {
  readonly descriptor: number
  readonly socket: Promise<Socket>
  /** It is not needed after all. */
  drop(): void
}

export interface SyscallAgents extends AsyncDisposable {
  /** Stays in the namespaces of this process: mounts and unmounts here, never anything that changes the agent itself. */
  readonly host: AgentChannel
  /** A new agent, in the namespaces of this process or (CLONE_NEW…) in new ones. */
  fork(cloneFlags?: number): Promise<Agent>
  /** Makes `descriptor` of an agent a connection to this process; must be done before the agent leaves the file system. */
  connect(agent: AgentChannel, descriptor: number): Connection
  /** A child of an agent, driven through the connection, which the parent gives up. */
  forkFrom(agent: AgentChannel, connection: Connection, cloneFlags?: number): Promise<Agent>
}

const SIGCHLD = 17
const O_CLOEXEC = 0o2000000
const AF_UNIX = 1
const SOCK_STREAM = 1
/** Free in every agent: its own control is 3, and forks close theirs at once. */
const FORK_DESCRIPTOR = 10

/**
 * `folder`, if there is one, belongs to these agents alone: what is in it was left by a process that was killed. Without
 * one they have a temporary folder, which such a process leaves behind.
 */
export async function startSyscallAgents(folder?: string): Promise<SyscallAgents> {
  const directory = folder ?? mkdtempSync(path.join(tmpdir(), 'sampan-'))
  try {
    if (folder !== undefined) {
      rmSync(folder, { recursive: true, force: true })
      mkdirSync(folder, { recursive: true, mode: 0o700 })
    }
    const host = await startHostAgent(directory)
    const rendezvous = await listenForAgents(socketPath(path.join(directory, 'agents.sock')))
    return agentsOf(host, rendezvous, directory)
  } catch (error) {
    rmSync(directory, { recursive: true, force: true })
    throw error
  }
}

function agentsOf(host: AgentChannel, rendezvous: Rendezvous, directory: string): SyscallAgents {
  const connect = (agent: AgentChannel, descriptor: number): Connection => {
    const { token, socket } = rendezvous.expect()
    void agent.call('socket', [AF_UNIX, SOCK_STREAM | O_CLOEXEC, 0], { keep: true })
    void agent.call('dup3', [0, descriptor, O_CLOEXEC], { useKept: true })
    agent.tell('close', [0], { useKept: true })
    const connected = agent.call('connect', [descriptor, rendezvous.address, rendezvous.address.length])
    void agent.call('write', [descriptor, token, token.length])
    connected.catch((error) => rendezvous.forget(token, error))
    const drop = () =>
      void socket.then(
        (unused) => unused.destroy(),
        () => {},
      )
    return { descriptor, socket, drop }
  }
  const forkFrom = async (agent: AgentChannel, connection: Connection, cloneFlags = 0): Promise<Agent> => {
    const { descriptor } = connection
    const pid = agent.call('clone', [cloneFlags | SIGCHLD, 0, 0, 0, 0], { childControl: descriptor })
    agent.tell('close', [descriptor])
    // If the clone is refused nobody speaks on the connection, and it ends.
    const channel = new AgentChannel(await connection.socket)
    await Promise.all([pid, channel.born()])
    return { pid: await pid, channel, control: descriptor }
  }
  return {
    host,
    connect,
    forkFrom,
    async fork(cloneFlags = 0) {
      const agent = await forkFrom(host, connect(host, FORK_DESCRIPTOR), cloneFlags)
      agent.channel.tell('close', [FIRST_CONTROL])
      agent.channel.tell('rt_sigaction', [SIGCHLD, sigaction(0), 0, 8])
      return agent
    },
    async [Symbol.asyncDispose]() {
      await rendezvous[Symbol.asyncDispose]()
      host.close()
      await host.gone
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

const PR_SET_DUMPABLE = 4
const PR_SET_NAME = 15
const SIG_IGN = 1

/** struct sigaction of the kernel: handler, flags, restorer, mask. */
function sigaction(handler: number): Buffer {
  const bytes = Buffer.alloc(32)
  bytes.writeBigUInt64LE(BigInt(handler), 0)
  return bytes
}

async function startHostAgent(directory: string): Promise<AgentChannel> {
  const program = agentExecutable(ownArchitecture())
  const { child, channel } = await spawnAgent(directory, program, { stdio: 'ignore', detached: true, cwd: '/' })
  child.unref()
  channel.unrefWhenIdle()
  await becomeSealed(channel, program, child.pid!)
  // Forks are not waited for: with SIGCHLD ignored the kernel reaps them.
  await Promise.all([
    // Whatever else this process was started with is nothing that a shim should hold open.
    channel.call('close_range', [FIRST_CONTROL + 1, 0xffffffff, 0]),
    channel.call('rt_sigaction', [SIGCHLD, sigaction(SIG_IGN), 0, 8]),
    channel.call('prctl', [PR_SET_DUMPABLE, 0, 0, 0, 0]),
    channel.call('prctl', [PR_SET_NAME, 'sampan-agent', 0, 0, 0]),
    channel.call('umask', [0]),
  ])
  return channel
}

const MFD_CLOEXEC = 1
const MFD_ALLOW_SEALING = 2
const MFD_EXEC = 0x10
const F_ADD_SEALS = 1033
const ALL_SEALS = 0xf
const AT_EMPTY_PATH = 0x1000

/** Starts the program anew from memory that can never be written again. */
async function becomeSealed(channel: AgentChannel, program: Buffer, pid: number): Promise<void> {
  const create = (flags: number) => channel.call('memfd_create', ['sampan-agent', flags], { soft: true })
  const flags = MFD_CLOEXEC | MFD_ALLOW_SEALING
  let memory = await create(flags | MFD_EXEC)
  if (memory < 0) memory = await create(flags)
  await Promise.all([
    channel.call('write', [memory, program, program.length]),
    channel.call('fcntl', [memory, F_ADD_SEALS, ALL_SEALS]),
  ])
  channel.tell('execveat', [memory, '', { strings: ['sampan-agent'] }, { strings: [] }, AT_EMPTY_PATH])
  await channel.call('getpid')
  const running = readlinkSync(`/proc/${pid}/exe`)
  if (!running.startsWith('/memfd:')) throw new Error('this kernel does not execute memory files (vm.memfd_noexec)')
}
