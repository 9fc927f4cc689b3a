import { type IncomingMessage, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { type SpdyConnection, type SpdyOptions, spdyConnection } from '../../base/spdy.ts'

/** A request to go on with another protocol, as Node's `upgrade` event has it. */
export interface Upgrade {
  readonly request: IncomingMessage
  readonly socket: Duplex
  /** What came after the request already. */
  readonly head: Buffer
}

const SPDY = 'SPDY/3.1'
const PROTOCOL_HEADER = 'x-stream-protocol-version'

export const wantsWebSocket = ({ request }: Upgrade) => request.headers.upgrade?.toLowerCase() === 'websocket'
export const wantsSpdy = ({ request }: Upgrade) => request.headers.upgrade?.toLowerCase() === SPDY.toLowerCase()

/** The protocols that the client would like, the best first. */
export function offeredProtocols(upgrade: Upgrade): string[] {
  const name = wantsWebSocket(upgrade) ? 'sec-websocket-protocol' : PROTOCOL_HEADER
  const value = upgrade.request.headers[name]
  const text = Array.isArray(value) ? value.join(',') : (value ?? '')
  return text.split(',').flatMap((one) => one.trim() || [])
}

/** Answers with an error and closes the connection. */
export function refuseUpgrade({ socket }: Upgrade, status: number, message: string): void {
  const body = Buffer.from(message)
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    'Content-Type: text/plain; charset=utf-8',
    `Content-Length: ${body.length}`,
    'Connection: close',
  ]
  socket.on('error', () => socket.destroy())
  socket.end(Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body]))
}

export function refuseProtocols(upgrade: Upgrade, accepted: readonly string[]): void {
  const offered = offeredProtocols(upgrade).join(' ')
  refuseUpgrade(
    upgrade,
    403,
    `unable to upgrade: unable to negotiate protocol: client supports [${offered}], server accepts [${accepted.join(' ')}]`,
  )
}

export function acceptSpdy(
  { socket, head }: Upgrade,
  protocol: string,
  onStream: NonNullable<SpdyOptions['onStream']>,
): SpdyConnection {
  const lines = ['HTTP/1.1 101 Switching Protocols', 'Connection: Upgrade', `Upgrade: ${SPDY}`]
  if (protocol !== '') lines.push(`X-Stream-Protocol-Version: ${protocol}`)
  socket.write(`${lines.join('\r\n')}\r\n\r\n`)
  if (head.length > 0) socket.unshift(head)
  return spdyConnection(socket, { role: 'server', onStream })
}
