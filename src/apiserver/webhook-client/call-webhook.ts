import { Agent, request as httpsRequest, type RequestOptions } from 'node:https'
import type { LookupFunction } from 'node:net'
import type { ServiceReference, WebhookClientConfig } from '../../api/generated/apiextensions-v1.ts'
import { ELSEWHERE_OR_HERE } from '../../base/allowed-address.ts'
import { systemClock } from '../../base/clock.ts'

/** Where a Service can be reached from here; undefined if there is none or nothing answers for it. */
export type ResolveService = (
  service: Required<Pick<ServiceReference, 'namespace' | 'name' | 'port'>>,
) => Promise<ServiceAddress | undefined>

export interface ServiceAddress {
  readonly host: string
  readonly port: number
  /** How the address of a name is found; it refuses what must not be connected to. */
  readonly lookup?: LookupFunction
}

/** The webhook was reached and answered with something else than success. */
export class WebhookStatusError extends Error {
  readonly status: number
  readonly body: string

  constructor(status: number, body: string) {
    super(`the server answered with status ${status}`)
    this.status = status
    this.body = body
  }
}

const TIMEOUT_MS = 30_000
const IDLE_MS = 60_000
/** More than any honest answer: what is larger is cut off. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024

/** Connections are kept for the next call; idle ones neither keep the process alive nor hold up a server that ends. */
const connections = new Agent({ keepAlive: true, maxFreeSockets: 16, timeout: IDLE_MS })

/** Posts JSON to a webhook by TLS and reads the JSON it answers. `query` is added to its address. */
export async function callWebhook(
  client: WebhookClientConfig | undefined,
  body: object,
  resolve: ResolveService,
  timeoutMs = TIMEOUT_MS,
  query = '',
): Promise<unknown> {
  const target = await targetOf(client, resolve, query)
  const ca = client?.caBundle ? Buffer.from(client.caBundle, 'base64').toString() : undefined
  const text = await post({ ...target, ...(ca && { ca }) }, Buffer.from(JSON.stringify(body)), timeoutMs)
  return JSON.parse(text)
}

/** The address of a webhook as messages name it. */
export function webhookAddress(client: WebhookClientConfig | undefined, query = ''): string {
  if (client?.url) return client.url + query
  const { namespace = '', name = '', port = 443, path = '' } = client?.service ?? {}
  return `https://${name}.${namespace}.svc:${port}${path.startsWith('/') ? path : `/${path}`}${query}`
}

async function targetOf(
  client: WebhookClientConfig | undefined,
  resolve: ResolveService,
  query: string,
): Promise<RequestOptions> {
  if (client?.url) {
    const { hostname, port, pathname, search } = new URL(client.url)
    const host = hostname.replace(/^\[|\]$/g, '')
    // As upstream, a webhook may run on the API server's own machine.
    if (!ELSEWHERE_OR_HERE.allows(host)) throw new Error(`${host}: address not allowed`)
    return { host, port: port || 443, path: pathname + (search || query), lookup: ELSEWHERE_OR_HERE.lookup }
  }
  const { namespace = '', name = '', port = 443, path = '/' } = client?.service ?? {}
  const found = await resolve({ namespace, name, port })
  if (!found) throw new Error(`no endpoints available for service ${JSON.stringify(`${namespace}/${name}`)}`)
  const servername = `${name}.${namespace}.svc`
  // The certificate is that of the Service, whatever address stands behind it.
  return { ...found, path: path + query, servername, headers: { host: servername } }
}

/** A connection that was kept may have been closed by the other side just now: then a new one is made, once. */
async function post(options: RequestOptions, body: Buffer, timeoutMs: number): Promise<string> {
  try {
    return await postOnce(options, body, timeoutMs, connections)
  } catch (error) {
    if (!(error instanceof StaleConnection)) throw error
    return postOnce(options, body, timeoutMs, false)
  }
}

class StaleConnection extends Error {}

function postOnce(options: RequestOptions, body: Buffer, timeoutMs: number, agent: Agent | false): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = {
      ...options.headers,
      'content-type': 'application/json',
      accept: 'application/json',
      'content-length': body.length,
    }
    let isAnswered = false
    const request = httpsRequest({ ...options, method: 'POST', headers, agent }, (response) => {
      isAnswered = true
      const parts: Buffer[] = []
      let size = 0
      response.on('data', (part: Buffer) => {
        size += part.length
        if (size > MAX_ANSWER_BYTES) request.destroy(new Error('the answer is too large'))
        else parts.push(part)
      })
      response.on('error', reject)
      response.on('end', () => {
        const { statusCode = 0 } = response
        const text = Buffer.concat(parts).toString()
        if (statusCode >= 200 && statusCode < 300) resolve(text)
        else reject(new WebhookStatusError(statusCode, text))
      })
    })
    // The other side lives in real time, whatever clock the cluster runs on.
    const deadline = systemClock.after(timeoutMs, () => request.destroy(new Error('context deadline exceeded')))
    request.on('error', (error: NodeJS.ErrnoException) => {
      const isStale = request.reusedSocket && !isAnswered && (error.code === 'ECONNRESET' || error.code === 'EPIPE')
      reject(isStale ? new StaleConnection() : error)
    })
    request.on('close', () => deadline.cancel())
    request.end(body)
  })
}
