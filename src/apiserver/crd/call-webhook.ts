import { request as httpsRequest, type RequestOptions } from 'node:https'
import type { ServiceReference, WebhookClientConfig } from '../../api/generated/apiextensions-v1.ts'

/** Where a Service can be reached from here; undefined if there is none or nothing answers for it. */
export type ResolveService = (
  service: Required<Pick<ServiceReference, 'namespace' | 'name' | 'port'>>,
) => Promise<{ readonly host: string; readonly port: number } | undefined>

const TIMEOUT_MS = 30_000
/** More than any honest answer: what is larger is cut off. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024

/** Posts JSON to a webhook by TLS and reads the JSON it answers. */
export async function callWebhook(
  client: WebhookClientConfig | undefined,
  body: object,
  resolve: ResolveService,
  timeoutMs = TIMEOUT_MS,
): Promise<unknown> {
  const target = await targetOf(client, resolve)
  const ca = client?.caBundle ? Buffer.from(client.caBundle, 'base64').toString() : undefined
  const text = await post({ ...target, ...(ca && { ca }), timeout: timeoutMs }, JSON.stringify(body))
  return JSON.parse(text)
}

async function targetOf(client: WebhookClientConfig | undefined, resolve: ResolveService): Promise<RequestOptions> {
  if (client?.url) {
    const { hostname, port, pathname, search } = new URL(client.url)
    return { host: hostname.replace(/^\[|\]$/g, ''), port: port || 443, path: pathname + search }
  }
  const { namespace = '', name = '', port = 443, path = '/' } = client?.service ?? {}
  const found = await resolve({ namespace, name, port })
  if (!found) throw new Error(`no endpoints available for service ${JSON.stringify(`${namespace}/${name}`)}`)
  const servername = `${name}.${namespace}.svc`
  // The certificate is that of the Service, whatever address stands behind it.
  return { ...found, path, servername, headers: { host: servername } }
}

function post(options: RequestOptions, body: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = { ...options.headers, 'content-type': 'application/json', accept: 'application/json' }
    const request = httpsRequest({ ...options, method: 'POST', headers, agent: false }, (response) => {
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
        if (statusCode >= 200 && statusCode < 300) resolve(Buffer.concat(parts).toString())
        else reject(new Error(`the server answered with status ${statusCode}`))
      })
    })
    request.on('timeout', () => request.destroy(new Error('context deadline exceeded')))
    request.on('error', reject)
    request.end(body)
  })
}
