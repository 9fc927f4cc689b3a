import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { SubjectAccessReview } from '../../api/generated/authorization-v1.ts'
import { systemClock } from '../../base/clock.ts'
import { VirtualClock } from '../../base/virtual-clock.ts'
import { loadCertificates } from '../../cluster/certificates.ts'
import { type AccessAttributes, inOrder, NO_OPINION } from './authorizer.ts'
import { type AuthorizationWebhook, webhookAuthorizer } from './webhook-authorizer.ts'

const user = { name: 'ann', groups: ['dev'] }
const getPod: AccessAttributes = {
  verb: 'get',
  resource: { group: '', resource: 'pods', namespace: 'shop', name: 'web', subresource: '' },
}

let server: Server
let clock: VirtualClock
let asked: SubjectAccessReview['spec'][]
let answer: (spec: SubjectAccessReview['spec']) => object | string
let webhook: AuthorizationWebhook

beforeEach(async () => {
  const certificates = await loadCertificates({ clock: systemClock, serverNames: ['127.0.0.1'] })
  clock = new VirtualClock()
  asked = []
  answer = () => ({ status: { allowed: true, reason: 'because' } })
  server = createServer(certificates.server, (request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      const { spec } = JSON.parse(Buffer.concat(parts).toString()) as SubjectAccessReview
      asked.push(spec)
      const said = answer(spec)
      response.end(typeof said === 'string' ? said : JSON.stringify(said))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/authorize`
  webhook = { url, ca: certificates.ca.cert }
})
afterEach(() => new Promise((resolve) => server.close(resolve)))

describe('webhookAuthorizer', () => {
  it.each<[string, object | string, object]>([
    ['allows', { status: { allowed: true, reason: 'x' } }, { allowed: true, denied: false, reason: 'x' }],
    ['has no opinion', { status: { allowed: false } }, { allowed: false, denied: false, reason: '' }],
    ['denies', { status: { allowed: false, denied: true } }, { allowed: false, denied: true, reason: '' }],
    ['says nothing', {}, { allowed: false, denied: false }],
    ['says nonsense', 'not JSON', { allowed: false, denied: false }],
  ])('%s', async (_, said, expected) => {
    answer = () => said
    expect(await webhookAuthorizer(webhook, clock).decide(user, getPod)).toMatchObject(expected)
  })

  it('tells who wants what, and of which objects', async () => {
    const selectors = { get: (name: string) => (name === 'fieldSelector' ? 'spec.nodeName=n1' : '') }
    await webhookAuthorizer(webhook, clock).decide(user, { ...getPod, verb: 'list', selectors })
    await webhookAuthorizer(webhook, clock).decide(user, { verb: 'get', path: '/metrics' })
    expect(asked).toEqual([
      {
        user: 'ann',
        groups: ['dev'],
        resourceAttributes: {
          verb: 'list',
          group: '',
          version: '*',
          resource: 'pods',
          namespace: 'shop',
          name: 'web',
          fieldSelector: { rawSelector: 'spec.nodeName=n1' },
        },
      },
      { user: 'ann', groups: ['dev'], nonResourceAttributes: { verb: 'get', path: '/metrics' } },
    ])
  })

  it('is asked again when its answer is old', async () => {
    const authorizer = webhookAuthorizer({ ...webhook, allowedTtl: 1000 }, clock)
    await authorizer.decide(user, getPod)
    await authorizer.decide(user, getPod)
    expect(asked).toHaveLength(1)
    clock.advance(1001)
    await authorizer.decide(user, getPod)
    expect(asked).toHaveLength(2)
  })

  it('that is gone allows nothing, and denies if it shall', async () => {
    const gone = { ...webhook, url: 'https://127.0.0.1:1/' }
    expect(await webhookAuthorizer(gone, clock).decide(user, getPod)).toMatchObject({ allowed: false, denied: false })
    const strict = webhookAuthorizer({ ...gone, onFailure: 'Deny' }, clock)
    expect(await strict.decide(user, getPod)).toMatchObject({ allowed: false, denied: true })
  })

  it('is asked in its turn: what somebody allowed or denied before is decided', async () => {
    const decided = (allowed: boolean, denied: boolean) => ({ decide: () => ({ allowed, denied, reason: '' }) })
    const last = webhookAuthorizer(webhook, clock)
    expect(await inOrder([decided(false, true), last]).decide(user, getPod)).toMatchObject({ allowed: false })
    expect(await inOrder([decided(true, false), last]).decide(user, getPod)).toMatchObject({ allowed: true })
    expect(asked).toHaveLength(0)
    expect(await inOrder([{ decide: () => NO_OPINION }, last]).decide(user, getPod)).toMatchObject({ allowed: true })
    expect(await inOrder([last, decided(false, false)]).decide(user, getPod)).toMatchObject({ allowed: true })
    expect(asked).toHaveLength(1)
  })
})
