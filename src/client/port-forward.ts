import { Duplex } from 'node:stream'
import { text } from 'node:stream/consumers'
import { createWebSocketStream } from 'ws'
import type { Clock } from '../base/clock.ts'
import { spdyConnection } from '../base/spdy.ts'
import { acceptWebSocket } from './streaming/accept-web-socket.ts'
import { type DialOptions, dialSpdy } from './streaming/dial-spdy.ts'
import { type ConnectPort, PORT_FORWARD_PROTOCOL, PortForwardStreams } from './streaming/port-forward-spdy.ts'
import { forwardChannels, PORT_FORWARD_CHANNELS } from './streaming/port-forward-web-socket.ts'
import {
  acceptSpdy,
  offeredProtocols,
  refuseProtocols,
  refuseUpgrade,
  type Upgrade,
  wantsSpdy,
  wantsWebSocket,
} from './streaming/upgrade.ts'

export type { ConnectPort } from './streaming/port-forward-spdy.ts'

export interface PortForwardOptions {
  readonly connect: ConnectPort
  /** What the old WebSocket form needs to know beforehand. */
  readonly ports: readonly number[]
  readonly clock: Clock
}

/** SPDY inside of WebSocket messages. */
const TUNNEL = `SPDY/3.1+${PORT_FORWARD_PROTOCOL}`

/** The server's side of port-forward; resolves when the client is gone, or was refused. */
export async function servePortForward(upgrade: Upgrade, options: PortForwardOptions): Promise<void> {
  if (wantsWebSocket(upgrade)) return serveWebSocket(upgrade, options)
  const offered = offeredProtocols(upgrade)
  if (!wantsSpdy(upgrade)) refuseUpgrade(upgrade, 400, 'unable to upgrade: SPDY/3.1 or websocket is required')
  else if (offered.length > 0 && !offered.includes(PORT_FORWARD_PROTOCOL))
    refuseProtocols(upgrade, [PORT_FORWARD_PROTOCOL])
  else {
    const streams = new PortForwardStreams(options.connect, options.clock)
    await acceptSpdy(upgrade, PORT_FORWARD_PROTOCOL, (stream) => streams.take(stream)).closed
  }
}

async function serveWebSocket(upgrade: Upgrade, { connect, ports, clock }: PortForwardOptions): Promise<void> {
  const offered = offeredProtocols(upgrade)
  const known = (name: string) => name === TUNNEL || PORT_FORWARD_CHANNELS[name] !== undefined
  const name = offered.length === 0 ? '' : offered.find(known)
  if (name === undefined) {
    refuseProtocols(upgrade, [TUNNEL, ...Object.keys(PORT_FORWARD_CHANNELS).filter(Boolean)])
    return
  }
  if (name !== TUNNEL && ports.length === 0) {
    refuseUpgrade(upgrade, 400, 'query parameter "port" is required')
    return
  }
  const socket = await acceptWebSocket(upgrade, name)
  if (!socket) return
  if (name !== TUNNEL) return forwardChannels(socket, PORT_FORWARD_CHANNELS[name]!, ports, connect)
  const streams = new PortForwardStreams(connect, clock)
  await spdyConnection(createWebSocketStream(socket), { role: 'server', onStream: (stream) => streams.take(stream) })
    .closed
}

/** The client's side: one connection to a port of the pod that the URL names. */
export async function dialPortForward(url: string, port: number, dial: DialOptions = {}): Promise<Duplex> {
  const { connection } = await dialSpdy(url, [PORT_FORWARD_PROTOCOL], dial)
  const headers = { port: String(port), requestid: '0' }
  const error = connection.open({ ...headers, streamtype: 'error' })
  const data = connection.open({ ...headers, streamtype: 'data' })
  error.end()
  data.on('close', () => connection.close())
  const problem = Promise.race([text(error), connection.closed.then(() => '')]).catch(() => '')
  return untilProblem(data, problem)
}

/** The data, whose end waits for what the error stream has to say. */
function untilProblem(data: Duplex, problem: Promise<string>): Duplex {
  const outer = new Duplex({
    read: () => void data.resume(),
    write: (chunk: Buffer, _, done) => void data.write(chunk, done),
    final: (done) => void data.end(done),
    destroy(reason, done) {
      data.destroy()
      done(reason)
    },
  })
  data.on('data', (chunk: Buffer) => {
    if (!outer.push(chunk)) data.pause()
  })
  data.on('end', async () => {
    const message = await problem
    if (message !== '') outer.destroy(new Error(message))
    else outer.push(null)
  })
  data.on('close', () => {
    if (!data.readableEnded) outer.destroy()
  })
  return outer
}
