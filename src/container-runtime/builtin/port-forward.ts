import type { Duplex } from 'node:stream'
import { openAs } from '../../linux/agent-files.ts'
import { CLONE, O } from '../../linux/mounts.ts'
import type { AgentChannel, SyscallAgents } from '../../linux/syscall-agent.ts'
import { hasCode } from '../../linux/system-error.ts'
import { RuntimeError } from '../runtime.ts'

const AF_INET = 2
const AF_INET6 = 10
const SOCK_STREAM = 1
const SHUT_WR = 1
const DATA = 40
const CONTROL = 41
const NAMESPACE = 42

/** A connection to a port of the pod's loopback, its bytes moved by two agents that are in the pod's network. */
export async function forwardPort(agents: SyscallAgents, netnsPath: string | undefined, port: number): Promise<Duplex> {
  const { channel } = await agents.fork()
  const data = agents.connect(channel, DATA)
  const control = agents.connect(channel, CONTROL)
  try {
    if (netnsPath) {
      await Promise.all([
        openAs(channel, NAMESPACE, netnsPath, O.RDONLY),
        channel.call('setns', [NAMESPACE, CLONE.NEWNET]),
      ])
    }
    const socket = await dial(channel, port)
    const writer = await agents.forkFrom(channel, control)
    for (const [agent, from, to] of [
      [writer.channel, DATA, socket],
      [channel, socket, DATA],
    ] as const) {
      agent.tellCopy(from, to)
      agent.tell('shutdown', [to, SHUT_WR])
      agent.tell('exit_group', [0])
      agent.close()
    }
    return await data.socket
  } catch (error) {
    channel.close()
    data.drop()
    control.drop()
    throw error
  }
}

async function dial(agent: AgentChannel, port: number): Promise<number> {
  try {
    return await connectTo(agent, AF_INET, loopback4(port))
  } catch (error) {
    if (!hasCode(error, 'ECONNREFUSED', 'ENETUNREACH', 'EADDRNOTAVAIL')) throw refused(port, error)
    return connectTo(agent, AF_INET6, loopback6(port)).catch((other) => {
      // A kernel without IPv6 has nothing to say about it.
      throw refused(port, hasCode(other, 'EAFNOSUPPORT') ? error : other)
    })
  }
}

const refused = (port: number, error: unknown) =>
  new RuntimeError('Unavailable', `failed to connect to localhost:${port} inside the pod: ${codeOf(error)}`, {
    cause: error,
  })

const codeOf = (error: unknown) =>
  hasCode(error, 'ECONNREFUSED', 'EADDRNOTAVAIL') ? 'connection refused' : (error as Error).message

async function connectTo(agent: AgentChannel, family: number, address: Buffer): Promise<number> {
  const socket = await agent.call('socket', [family, SOCK_STREAM | O.CLOEXEC, 0])
  await agent.call('connect', [socket, address, address.length])
  return socket
}

function loopback4(port: number): Buffer {
  const address = Buffer.alloc(16)
  address.writeUInt16LE(AF_INET, 0)
  address.writeUInt16BE(port, 2)
  address.set([127, 0, 0, 1], 4)
  return address
}

function loopback6(port: number): Buffer {
  const address = Buffer.alloc(28)
  address.writeUInt16LE(AF_INET6, 0)
  address.writeUInt16BE(port, 2)
  address[23] = 1
  return address
}
