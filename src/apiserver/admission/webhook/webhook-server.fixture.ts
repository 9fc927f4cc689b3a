import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { MutatingWebhook } from '../../../api/generated/admissionregistration-v1.ts'
import type { KubernetesObject } from '../../../api/meta/object.ts'
import { CERTIFICATE, KEY } from '../../crd/webhook-certificate.fixture.ts'
import type { ResolveService } from '../../webhook-client/call-webhook.ts'

/** The request of a review, as far as tests look at it. */
export interface ReviewRequest {
  uid: string
  operation: string
  name?: string
  namespace?: string
  subResource?: string
  kind: { group: string; version: string; kind: string }
  requestKind: { version: string }
  object: (KubernetesObject & Record<string, unknown>) | null
  oldObject: KubernetesObject | null
  dryRun: boolean
  options: { kind?: string }
  userInfo: { username: string }
}

/** Part of a response; `answer` stands for a whole review or any other body. `undefined` never answers. */
export type Respond = (
  request: ReviewRequest,
  path: string,
) => object | { answer: unknown; status?: number } | undefined

export interface WebhookServer extends AsyncDisposable {
  readonly calls: { readonly path: string; readonly request: ReviewRequest }[]
  readonly resolveService: ResolveService
}

export const patchOf = (operations: object[]) => ({
  patchType: 'JSONPatch',
  patch: Buffer.from(JSON.stringify(operations)).toString('base64'),
})

/** An admission webhook on loopback, which stands for the Service `converter` in `default`. */
export async function startWebhookServer(respond: Respond): Promise<WebhookServer> {
  const calls: WebhookServer['calls'] = []
  const server = createServer({ cert: CERTIFICATE, key: KEY }, (incoming, outgoing) => {
    const parts: Buffer[] = []
    incoming.on('data', (part: Buffer) => parts.push(part))
    incoming.on('end', () => {
      const { request, apiVersion, kind } = JSON.parse(Buffer.concat(parts).toString())
      const path = (incoming.url ?? '').replace(/\?.*/, '')
      calls.push({ path, request })
      const response = respond(request, path)
      if (response === undefined) return
      if ('answer' in response) {
        outgoing.statusCode = 'status' in response ? (response.status ?? 200) : 200
        return outgoing.end(typeof response.answer === 'string' ? response.answer : JSON.stringify(response.answer))
      }
      outgoing.end(JSON.stringify({ apiVersion, kind, response: { uid: request.uid, allowed: true, ...response } }))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    calls,
    resolveService: async () => ({ host: '127.0.0.1', port }),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** A webhook for config maps at a path of that server. */
export const webhookAt = (path: string, change: Partial<MutatingWebhook> = {}): MutatingWebhook => ({
  name: `${path}.example.com`,
  clientConfig: {
    service: { namespace: 'default', name: 'converter', path: `/${path}` },
    caBundle: Buffer.from(CERTIFICATE).toString('base64'),
  },
  rules: [
    { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE', 'UPDATE', 'DELETE'], resources: ['configmaps'] },
  ],
  admissionReviewVersions: ['v1'],
  sideEffects: 'None',
  timeoutSeconds: 5,
  ...change,
})
