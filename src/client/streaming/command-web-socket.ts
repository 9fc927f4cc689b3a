import { acceptWebSocket } from './accept-web-socket.ts'
import { type CommandStreamOptions, type CommandStreams, discard, ended, statusText } from './command-streams.ts'
import { onTerminalSize } from './terminal-size.ts'
import { offeredProtocols, refuseProtocols, type Upgrade } from './upgrade.ts'
import { type ChannelEncoding, WebSocketChannels } from './web-socket-channels.ts'

const CHANNEL = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4 } as const

interface CommandProtocol extends ChannelEncoding {
  readonly hasStatusObject: boolean
}

const OLD: CommandProtocol = { isBase64: false, canHalfClose: false, hasStatusObject: false }
const V4: CommandProtocol = { ...OLD, hasStatusObject: true }
const PROTOCOLS: Readonly<Record<string, CommandProtocol>> = {
  '': OLD,
  'channel.k8s.io': OLD,
  'base64.channel.k8s.io': { ...OLD, isBase64: true },
  'v4.channel.k8s.io': V4,
  'v4.base64.channel.k8s.io': { ...V4, isBase64: true },
  'v5.channel.k8s.io': { ...V4, canHalfClose: true },
}

const NOTHING = Buffer.alloc(0)

/** All streams are channels of one WebSocket. */
export async function acceptWebSocketCommand(
  upgrade: Upgrade,
  options: CommandStreamOptions,
): Promise<CommandStreams | undefined> {
  const offered = offeredProtocols(upgrade)
  const name = offered.length === 0 ? '' : offered.find((one) => PROTOCOLS[one])
  if (name === undefined) {
    refuseProtocols(upgrade, Object.keys(PROTOCOLS).filter(Boolean))
    return undefined
  }
  const socket = await acceptWebSocket(upgrade, name)
  if (!socket) return undefined
  const protocol = PROTOCOLS[name]!
  const channels = new WebSocketChannels(socket, protocol)
  const stdin = options.stdin ? channels.reader(CHANNEL.stdin) : undefined
  const resize = options.tty ? channels.reader(CHANNEL.resize) : undefined
  const stdout = options.stdout ? channels.writer(CHANNEL.stdout) : undefined
  const stderr = options.stderr ? channels.writer(CHANNEL.stderr) : undefined
  // An empty message tells the client that everything is in place.
  channels.send(stdout ? CHANNEL.stdout : stderr ? CHANNEL.stderr : CHANNEL.error, NOTHING)
  return {
    stdin,
    stdout,
    stderr,
    closed: channels.closed,
    onResize: (listener) => resize && onTerminalSize(resize, listener),
    async finish(status) {
      discard(stdin)
      await Promise.all([ended(stdout), ended(stderr)])
      const text = statusText(status, protocol.hasStatusObject)
      if (text !== '') channels.send(CHANNEL.error, Buffer.from(text))
      channels.close()
      await channels.closed
    },
  }
}
