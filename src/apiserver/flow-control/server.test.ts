import type { IncomingHttpHeaders } from 'node:http'
import { request } from 'node:https'
import { afterEach, expect, it } from 'vitest'
import { systemClock } from '../../base/clock.ts'
import { VirtualClock } from '../../base/virtual-clock.ts'
import { loadCertificates } from '../../cluster/certificates.ts'
import { type AdmissionServer, startAdmissionServer } from '../admission/admission-server.fixture.ts'

let plane: AdmissionServer | undefined
afterEach(() => plane?.[Symbol.asyncDispose]())

it('a user who asks too fast is told when to come back, and others go on', async () => {
  const user = (name: string, ...groups: string[]) => ({ token: `token-of-${name}`, name, groups })
  plane = await startAdmissionServer({
    clock: new VirtualClock(),
    rateLimit: { perSecond: 1, burst: 3, exemptGroups: ['system:masters'] },
    authentication: { staticTokens: [user('alice'), user('bob'), user('root', 'system:masters')] },
  })
  const certificates = await loadCertificates({ clock: systemClock, serverNames: ['localhost'] })
  const tls = { ...certificates.server, clientCa: certificates.ca.cert }
  const { port } = await plane.server.listen({ host: '127.0.0.1', port: 0, tls })
  const ask = (name: string) => get(port, certificates.ca.cert, `token-of-${name}`)
  const codes = async (name: string) => {
    const answers = [await ask(name), await ask(name), await ask(name), await ask(name)]
    return answers.map(({ code }) => code)
  }
  expect(await codes('alice')).toEqual([403, 403, 403, 429])
  const { headers, body } = await ask('alice')
  expect(headers['retry-after']).toBe('1')
  expect(JSON.parse(body)).toMatchObject({ kind: 'Status', reason: 'TooManyRequests', code: 429 })
  expect(await codes('bob')).toEqual([403, 403, 403, 429])
  expect(await codes('root')).toEqual([200, 200, 200, 200])
})

interface Reply {
  readonly code: number | undefined
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

function get(port: number, ca: string, token: string): Promise<Reply> {
  const options = { host: '127.0.0.1', port, path: '/api/v1/nodes', ca, servername: 'localhost', agent: false as const }
  return new Promise((resolve, reject) => {
    request({ ...options, headers: { authorization: `Bearer ${token}` } }, async (response) => {
      let body = ''
      for await (const chunk of response) body += chunk
      resolve({ code: response.statusCode, headers: response.headers, body })
    })
      .on('error', reject)
      .end()
  })
}
