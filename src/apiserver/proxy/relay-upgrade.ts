import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { badRequest } from '../../api/meta/api-error.ts'
import { deadline } from '../../base/abort.ts'
import type { Clock } from '../../base/clock.ts'
import type { Exchange } from '../http/exchange.ts'
import { askBackend, type Backend } from './backend.ts'
import { carryAnswer } from './carry-answer.ts'
import { forwardedHeaders, returnedHeaders } from './headers.ts'

/** How long a backend may take to agree. */
const UPGRADE_TIMEOUT_MS = 30_000

/**
 * HTTP again, and TLS below it. Through such a connection a client could send requests that nothing checks, to a backend
 * that believes them because of the certificate of the API server.
 */
const MORE_HTTP = /(?:^|,)\s*(?:h2c?|http\/|tls\/)/i

/**
 * Hands a connection on. Only once the backend has agreed do bytes go through, both ways and unread, until one side
 * closes. Any other answer ends the connection to the backend.
 */
export async function relayUpgrade(
  exchange: Exchange,
  backend: Backend,
  path: string,
  clock: Clock,
  extraHeaders: Readonly<Record<string, string | string[]>> = {},
): Promise<void> {
  const protocol = exchange.headers.upgrade ?? ''
  if (MORE_HTTP.test(protocol)) throw badRequest(`unable to upgrade: ${protocol} is not supported`)
  const limit = deadline(clock, UPGRADE_TIMEOUT_MS, exchange.signal)
  const headers = { ...forwardedHeaders(exchange, true), ...extraHeaders }
  const asked = { method: exchange.method, path, headers }
  const answer = await askBackend(backend, asked, limit.signal).finally(() => limit[Symbol.dispose]())
  if (answer.type === 'response') return relayRefusal(exchange, answer.response)
  const { socket, head } = exchange.takeOver!()
  socket.write(responseHead(answer.response))
  if (answer.head.length > 0) socket.write(answer.head)
  if (head.length > 0) answer.socket.write(head)
  join(socket, answer.socket)
  join(answer.socket, socket)
}

/** A success or a redirect is no answer to an upgrade, and would have clients show their credentials elsewhere. */
async function relayRefusal(exchange: Exchange, response: IncomingMessage): Promise<void> {
  const status = response.statusCode ?? 502
  if (status < 400) {
    response.destroy()
    throw new Error(`invalid upgrade response: status code ${status}`)
  }
  await carryAnswer(response, exchange.relay(status, returnedHeaders(response)))
}

function responseHead({ rawHeaders }: IncomingMessage): string {
  const lines = ['HTTP/1.1 101 Switching Protocols']
  for (let i = 0; i < rawHeaders.length; i += 2) lines.push(`${rawHeaders[i]}: ${rawHeaders[i + 1]}`)
  return `${lines.join('\r\n')}\r\n\r\n`
}

/** One direction; a side that breaks takes the other with it. */
function join(from: Duplex, to: Duplex): void {
  from.pipe(to)
  from.on('error', () => to.destroy())
  from.on('close', () => to.destroy())
}
