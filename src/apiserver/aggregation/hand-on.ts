import type { IncomingMessage } from 'node:http'
import { ApiError, serviceUnavailable } from '../../api/meta/api-error.ts'
import { DeadlineError, deadline } from '../../base/abort.ts'
import type { Clock } from '../../base/clock.ts'
import { bodyToHandOn, type Exchange } from '../http/exchange.ts'
import type { UserInfo } from '../identity.ts'
import { carryAnswer } from '../proxy/carry-answer.ts'
import { forwardedHeaders, returnedHeaders } from '../proxy/headers.ts'
import { relayUpgrade } from '../proxy/relay-upgrade.ts'
import type { RemoteService } from './remote-service.ts'

/** So long an extension API server may take to begin its answer. */
const ANSWER_TIMEOUT_MS = 60_000

export const UNAVAILABLE = 'the server is currently unable to handle the request'

/** Hands a request on to an extension API server, in the name of who sent it. */
export async function handOn(service: RemoteService, exchange: Exchange, user: UserInfo, clock: Clock): Promise<void> {
  if (!service.isAvailable) throw serviceUnavailable(UNAVAILABLE)
  try {
    if (exchange.takeOver) await handOnConnection(service, exchange, user, clock)
    else await handOnRequest(service, exchange, user, clock)
  } catch (error) {
    if (error instanceof ApiError || exchange.status !== 0) throw error
    const why = error instanceof DeadlineError ? 'it did not answer in time' : (error as Error).message
    throw serviceUnavailable(`error trying to reach service: ${why}`)
  }
}

async function handOnRequest(
  { client }: RemoteService,
  exchange: Exchange,
  user: UserInfo,
  clock: Clock,
): Promise<void> {
  const headers = { ...forwardedHeaders(exchange, false), ...identityHeaders(user), host: client.host }
  const body = bodyToHandOn(exchange)
  const limit = deadline(clock, ANSWER_TIMEOUT_MS)
  const gone = exchange.signal
  const stop = new AbortController()
  const abort = () => stop.abort(limit.signal.reason ?? gone.reason)
  for (const signal of [limit.signal, gone]) signal.addEventListener('abort', abort, { once: true })
  const asked = { method: exchange.method, path: exchange.url, headers, ...(body && { body }) }
  const response = await client.send(asked, stop.signal).finally(() => {
    limit.signal.removeEventListener('abort', abort)
    limit[Symbol.dispose]()
  })
  exchange.whenStarted?.()
  refuseRedirect(response)
  await carryAnswer(response, exchange.relay(response.statusCode ?? 502, returnedHeaders(response)))
}

/** Clients would follow it with their credentials (CVE-2022-3172). */
function refuseRedirect(response: IncomingMessage): void {
  const { statusCode = 0, headers } = response
  if (statusCode < 300 || statusCode > 399 || !headers.location) return
  response.destroy()
  throw new ApiError(502, 'InternalError', 'the backend attempted to redirect this request, which is not permitted')
}

function handOnConnection({ client }: RemoteService, exchange: Exchange, user: UserInfo, clock: Clock): Promise<void> {
  const backend = { origin: `https://${client.host}`, dial: () => client.dial() }
  return relayUpgrade(exchange, backend, exchange.url, clock, { ...identityHeaders(user), host: client.host })
}

/** Who it is, as extension API servers read it: believed because of the certificate that comes with it. */
export function identityHeaders(user: UserInfo): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = {
    'x-remote-user': headerText(user.name),
    'x-remote-group': user.groups.map(headerText),
    ...(user.uid && { 'x-remote-uid': headerText(user.uid) }),
  }
  for (const [key, values] of Object.entries(user.extra ?? {}))
    headers[`x-remote-extra-${encodeURIComponent(key).toLowerCase()}`] = values.map(headerText)
  return headers
}

/** Header values hold bytes; names of users may be any text. */
const headerText = (text: string) => Buffer.from(text.replaceAll(/[\r\n\0]/g, '')).toString('latin1')
