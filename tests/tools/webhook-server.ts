import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { issueCertificate } from '../../src/x509/certificate.ts'
import type { Json } from './json.ts'

const DAY = 24 * 60 * 60 * 1000

export interface AdmissionRequestBody {
  uid: string
  operation: string
  name?: string
  namespace?: string
  subResource?: string
  object: Json | null
  oldObject: Json | null
  [field: string]: unknown
}

export interface WebhookServer extends AsyncDisposable {
  /** `https://127.0.0.1:port` */
  readonly url: string
  /** Base64, as configurations want it. */
  readonly caBundle: string
}

/** What answers at a path, at once or later: part of an AdmissionResponse, or undefined for no answer at all. */
export type Answers = Readonly<
  Record<string, (request: AdmissionRequestBody) => object | undefined | Promise<object | undefined>>
>

export const jsonPatch = (...operations: object[]) => ({
  patchType: 'JSONPatch',
  patch: Buffer.from(JSON.stringify(operations)).toString('base64'),
})

/** Admission webhooks on loopback, with a certificate of their own. */
export async function startWebhookServer(answers: Answers): Promise<WebhookServer> {
  const pair = issueCertificate({
    commonName: 'webhook',
    usage: 'server',
    subjectAltNames: ['127.0.0.1'],
    notBefore: Date.now() - DAY,
    notAfter: Date.now() + DAY,
  })
  const server = createServer(pair, (incoming, outgoing) => {
    const parts: Buffer[] = []
    incoming.on('data', (part: Buffer) => parts.push(part))
    incoming.on('end', async () => {
      const { apiVersion, kind, request } = JSON.parse(Buffer.concat(parts).toString())
      const answer = answers[new URL(incoming.url ?? '/', 'https://x').pathname.slice(1)]
      if (!answer) {
        outgoing.statusCode = 404
        return outgoing.end()
      }
      const response = await answer(request)
      if (!response) return
      outgoing.end(JSON.stringify({ apiVersion, kind, response: { uid: request.uid, allowed: true, ...response } }))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    caBundle: Buffer.from(pair.cert).toString('base64'),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
