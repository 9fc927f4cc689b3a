import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { deadline } from '../../base/abort.ts'
import type { Clock } from '../../base/clock.ts'
import type { Exchange } from '../http/exchange.ts'
import { askBackend, type Backend } from './backend.ts'
import { forwardedHeaders, returnedHeaders } from './headers.ts'

/** So long a backend may take to agree. */
const UPGRADE_TIMEOUT_MS = 30_000

/** Hands a connection on: once the backend has agreed, bytes go through unread, both ways, until one side closes. */
export async function relayUpgrade(
  exchange: Exchange,
  backend: Backend,
  path: string,
  clock: Clock,
  extraHeaders: Readonly<Record<string, string | string[]>> = {},
): Promise<void> {
  const limit = deadline(clock, UPGRADE_TIMEOUT_MS, exchange.signal)
  const headers = { ...forwardedHeaders(exchange, true), ...extraHeaders }
  const asked = { method: exchange.method, path, headers }
  const answer = await askBackend(backend, asked, limit.signal).finally(() => limit[Symbol.dispose]())
  if (answer.type === 'response') {
    const refusal = exchange.relay(answer.response.statusCode ?? 502, returnedHeaders(answer.response))
    answer.response.on('error', () => refusal.destroy()).pipe(refusal)
    return
  }
  const { socket, head } = exchange.takeOver!()
  socket.write(responseHead(answer.response))
  if (answer.head.length > 0) socket.write(answer.head)
  if (head.length > 0) answer.socket.write(head)
  join(socket, answer.socket)
  join(answer.socket, socket)
}

function responseHead({ rawHeaders, statusMessage }: IncomingMessage): string {
  const lines = [`HTTP/1.1 101 ${statusMessage || 'Switching Protocols'}`]
  for (let i = 0; i < rawHeaders.length; i += 2) lines.push(`${rawHeaders[i]}: ${rawHeaders[i + 1]}`)
  return `${lines.join('\r\n')}\r\n\r\n`
}

/** One direction; a side that breaks takes the other with it. */
function join(from: Duplex, to: Duplex): void {
  from.pipe(to)
  from.on('error', () => to.destroy())
  from.on('close', () => to.destroy())
}
