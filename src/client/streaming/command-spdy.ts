import { deadline } from '../../base/abort.ts'
import type { Clock } from '../../base/clock.ts'
import type { SpdyConnection, SpdyStream } from '../../base/spdy.ts'
import {
  type CommandStatus,
  type CommandStreamOptions,
  type CommandStreams,
  discard,
  ended,
  statusText,
} from './command-streams.ts'
import { onTerminalSize } from './terminal-size.ts'
import { acceptSpdy, offeredProtocols, refuseProtocols, type Upgrade } from './upgrade.ts'

export const COMMAND_SPDY_PROTOCOLS: readonly string[] = [
  'v4.channel.k8s.io',
  'v3.channel.k8s.io',
  'v2.channel.k8s.io',
  'channel.k8s.io',
]

/** So long a client may take to open its streams, and to close the connection in the end. */
const STREAM_TIMEOUT_MS = 30_000
const CLOSE_TIMEOUT_MS = 10_000

/** The client opens one stream for each purpose, and names it in a header. */
export async function acceptSpdyCommand(
  upgrade: Upgrade,
  options: CommandStreamOptions,
  clock: Clock,
): Promise<CommandStreams | undefined> {
  const offered = offeredProtocols(upgrade)
  // The first clients did not say.
  const protocol = offered.length === 0 ? '' : offered.find((one) => COMMAND_SPDY_PROTOCOLS.includes(one))
  if (protocol === undefined) {
    refuseProtocols(upgrade, COMMAND_SPDY_PROTOCOLS)
    return undefined
  }
  const hasResize = protocol.startsWith('v3') || protocol.startsWith('v4')
  const expected = expectedStreams(options, hasResize)
  const streams = new Map<string, SpdyStream>()
  const limit = deadline(clock, STREAM_TIMEOUT_MS)
  const connection = await new Promise<SpdyConnection | undefined>((resolve) => {
    const accepted = acceptSpdy(upgrade, protocol, (stream) => {
      const type = stream.headers.streamtype ?? ''
      if (!expected.has(type) || streams.has(type)) return false
      streams.set(type, stream)
      if (streams.size === expected.size) resolve(accepted)
      return true
    })
    limit.signal.addEventListener('abort', () => accepted.destroy())
    void accepted.closed.then(() => resolve(undefined))
  })
  limit[Symbol.dispose]()
  return connection && commandStreams(connection, streams, protocol.startsWith('v4'), clock)
}

function expectedStreams({ stdin, stdout, stderr, tty }: CommandStreamOptions, hasResize: boolean): Set<string> {
  const expected = new Set(['error'])
  if (stdin) expected.add('stdin')
  if (stdout) expected.add('stdout')
  if (stderr) expected.add('stderr')
  if (tty && hasResize) expected.add('resize')
  return expected
}

function commandStreams(
  connection: SpdyConnection,
  streams: ReadonlyMap<string, SpdyStream>,
  hasStatusObject: boolean,
  clock: Clock,
): CommandStreams {
  const [stdin, stdout, stderr, resize] = ['stdin', 'stdout', 'stderr', 'resize'].map((type) => streams.get(type))
  const error = streams.get('error')!
  return {
    stdin,
    stdout,
    stderr,
    closed: connection.closed,
    onResize: (listener) => resize && onTerminalSize(resize, listener),
    async finish(status: CommandStatus) {
      discard(stdin)
      const text = statusText(status, hasStatusObject)
      if (text !== '' && !error.destroyed) error.write(text)
      await Promise.all([ended(stdout), ended(stderr), ended(error), ended(stdin), ended(resize)])
      connection.close()
      // Go's clients may lose what has not been read when the connection closes, so they are the ones to close it.
      const limit = deadline(clock, CLOSE_TIMEOUT_MS)
      limit.signal.addEventListener('abort', () => connection.destroy())
      await connection.closed
      limit[Symbol.dispose]()
    },
  }
}
