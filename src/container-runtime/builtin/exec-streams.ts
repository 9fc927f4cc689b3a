import type { Socket } from 'node:net'
import type { Readable, Writable } from 'node:stream'
import { O } from '../../linux/mounts.ts'
import { type Agent, AgentGone, type SyscallAgents } from '../../linux/syscall-agent.ts'
import type { ExecOptions } from '../runtime.ts'
import { openReader, openWriter } from './pipes.ts'
import { resizeTerminalOf, type Terminal, takeDescriptor } from './terminal.ts'

/** The two ends of a command's standard streams meet here: those of the session. */
export interface Streams {
  readonly stdin: Writable | undefined
  readonly stdout: Readable | undefined
  readonly stderr: Readable | undefined
  resize(size: { readonly width: number; readonly height: number }): Promise<void>
  /** Everything the command wrote has been read. */
  readonly ended: Promise<unknown>
  close(): void
}

/** Pipes become the agent's standard streams, which its child inherits; the other ends are opened from here. */
export async function pipeStreams({ channel, pid }: Agent, options: ExecOptions): Promise<Streams> {
  const pipe = async (descriptor: 0 | 1 | 2) => {
    const { bytes } = await channel.answer('pipe2', [{ out: 8 }, O.CLOEXEC])
    const [reader, writer] = [bytes.readInt32LE(0), bytes.readInt32LE(4)]
    const [theirs, ours] = descriptor === 0 ? [reader, writer] : [writer, reader]
    const open = () => `/proc/${pid}/fd/${ours}`
    const release = () =>
      Promise.all([
        channel.call('dup3', [theirs, descriptor, 0]),
        channel.call('close', [theirs]),
        channel.call('close', [ours]),
      ])
    return { open, release }
  }
  const [stdin, stdout, stderr] = await Promise.all([
    options.stdin ? pipe(0) : undefined,
    options.stdout ? pipe(1) : undefined,
    options.stderr ? pipe(2) : undefined,
  ])
  const input = stdin && openWriter(stdin.open())
  const outputs = [stdout, stderr].map((end) => end && openReader(end.open()))
  await Promise.all([stdin?.release(), stdout?.release(), stderr?.release()])
  return {
    stdin: input,
    stdout: outputs[0],
    stderr: outputs[1],
    resize: async () => {},
    ended: Promise.all(outputs.map((stream) => stream && closed(stream))),
    close: () => {
      input?.destroy()
      for (const stream of outputs) stream?.destroy()
    },
  }
}

const RELAY_DATA = 40
const RELAY_CONTROL = 41

/** Two agents outside the container move a terminal's bytes to and from a connection of ours. */
export async function terminalStreams(
  agents: SyscallAgents,
  holder: Agent,
  { master, slave }: Terminal,
  options: ExecOptions,
): Promise<Streams> {
  const relay = await agents.fork()
  const data = agents.connect(relay.channel, RELAY_DATA)
  const own = await takeDescriptor(relay.channel, holder.pid, master)
  const writer = await agents.forkFrom(relay.channel, agents.connect(relay.channel, RELAY_CONTROL))
  for (const [channel, from, to] of [
    [writer.channel, RELAY_DATA, own],
    [relay.channel, own, RELAY_DATA],
  ] as const) {
    channel.tellCopy(from, to)
    if (channel === relay.channel) channel.tell('shutdown', [RELAY_DATA, 2])
    channel.tell('exit_group', [0])
    channel.close()
  }
  // Only the relay keeps the terminal: it hangs up when we are gone.
  holder.channel.tell('close', [master])
  holder.channel.tell('close', [slave])
  const socket = await data.socket
  socket.on('end', () => socket.end())
  return {
    stdin: options.stdin ? socket : undefined,
    stdout: socket,
    stderr: undefined,
    resize: (size) => resizeTerminalOf(agents, { pid: relay.pid, descriptor: own }, size).catch(ignoreGone),
    ended: closed(socket),
    close: () => socket.destroy(),
  }
}

/** A terminal that has gone has no size. */
function ignoreGone(error: unknown): void {
  const code = (error as { code?: string }).code
  if (!(error instanceof AgentGone) && code !== 'ESRCH' && code !== 'EBADF') throw error
}

const closed = (stream: Readable | Socket) =>
  new Promise<void>((resolve) =>
    stream
      .on('end', resolve)
      .on('close', resolve)
      .on('error', () => resolve()),
  )
