import { request } from 'node:https'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../base/clock.ts'
import { type ClusterCertificates, type KeyPair, loadCertificates } from '../../cluster/certificates.ts'
import { RESOURCES, SecureServer } from '../security.fixture.ts'
import { keyPairOf, signJwt } from './jwt.ts'
import { newKey, Provider } from './oidc-provider.fixture.ts'

interface Answer {
  readonly status: number
  readonly body: Record<string, unknown>
}
type Headers = Record<string, string | string[]>

let certificates: ClusterCertificates
let proxyCertificates: ClusterCertificates
let provider: Provider
let server: SecureServer
let port: number
let accountToken: string

beforeAll(async () => {
  const names = { clock: systemClock, serverNames: ['127.0.0.1', 'localhost'] }
  certificates = await loadCertificates(names)
  proxyCertificates = await loadCertificates(names)
  provider = await Provider.start(certificates)
  server = await SecureServer.start({
    authentication: {
      staticTokens: [{ token: 'fixed-token', name: 'static', groups: ['fixed'] }],
      requestHeader: { ca: proxyCertificates.ca.cert, allowedNames: ['front-proxy'] },
      oidc: [
        {
          issuerUrl: provider.url,
          clientId: 'sampan',
          ca: certificates.ca.cert,
          usernameClaim: 'email',
          groupsClaim: 'groups',
          groupsPrefix: 'oidc:',
          signingAlgorithms: ['ES256'],
        },
      ],
      webhook: { url: `${provider.url}/review`, ca: certificates.ca.cert },
    },
  })
  const tls = { ...certificates.server, clientCa: certificates.ca.cert }
  port = (await server.server.listen({ host: '127.0.0.1', port: 0, tls })).port
  await server.create(RESOURCES.serviceAccounts, { metadata: { name: 'robot' } })
  const asked = { resource: RESOURCES.serviceAccounts, namespace: 'default', name: 'robot', subresource: 'token' }
  const answer = (await server.admin.call({ verb: 'create', ...asked, body: { spec: {} } })) as unknown as {
    status: { token: string }
  }
  accountToken = answer.status.token
  await server.bind('group:readers', 'system:monitoring')
})
afterAll(async () => {
  await server?.[Symbol.asyncDispose]()
  await provider?.[Symbol.asyncDispose]()
})

function send(method: string, path: string, headers: Headers = {}, client?: KeyPair, body?: object): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, method, path, headers, agent: false, ca: certificates.ca.cert }
    const asking = request({ ...options, ...client }, (response) => {
      const parts: Buffer[] = []
      response.on('data', (part: Buffer) => parts.push(part))
      response.on('end', () => {
        const text = Buffer.concat(parts).toString()
        resolve({ status: response.statusCode!, body: text.startsWith('{') ? JSON.parse(text) : { text } })
      })
    })
    asking.on('error', reject)
    asking.end(body && JSON.stringify(body))
  })
}

/** `name groups`, or the status if nobody is known. */
async function whoami(headers: Headers, client?: KeyPair): Promise<string> {
  const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews'
  const { status, body } = await send('POST', path, { 'content-type': 'application/json', ...headers }, client, {})
  if (status !== 201) return String(status)
  const { userInfo } = body.status as { userInfo: { username: string; groups: string[] } }
  return [userInfo.username, ...userInfo.groups.filter((group) => group !== 'system:authenticated')].join(' ')
}
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

describe('who somebody is', () => {
  it.each<[string, () => Headers, (() => KeyPair) | undefined, string]>([
    ['nobody', () => ({}), undefined, '401'],
    ['a client certificate', () => ({}), () => certificates.issueClient('ann', ['dev']), 'ann dev'],
    [
      'a certificate of another authority',
      () => ({}),
      () => proxyCertificates.issueClient('ann', ['system:masters']),
      '401',
    ],
    [
      'a service account token',
      () => bearer(accountToken),
      undefined,
      'system:serviceaccount:default:robot system:serviceaccounts system:serviceaccounts:default',
    ],
    [
      'a token in another case',
      () => ({ authorization: `bearer ${accountToken}` }),
      undefined,
      'system:serviceaccount:default:robot system:serviceaccounts system:serviceaccounts:default',
    ],
    ['a cut token', () => bearer(accountToken.slice(0, -2)), undefined, '401'],
    ['an empty token', () => ({ authorization: 'Bearer ' }), undefined, '401'],
    ['a password', () => ({ authorization: 'Basic YTpi' }), undefined, '401'],
    ['a static token', () => bearer('fixed-token'), undefined, 'static fixed'],
    ['nearly a static token', () => bearer('fixed-toke'), undefined, '401'],
    ['a certificate before a token', () => bearer('fixed-token'), () => certificates.issueClient('ann', []), 'ann'],
    [
      'a proxy',
      () => ({ 'x-remote-user': 'pat', 'x-remote-group': 'a' }),
      () => proxyCertificates.issueClient('front-proxy', []),
      'pat a',
    ],
    [
      'a proxy of another name',
      () => ({ 'x-remote-user': 'pat' }),
      () => proxyCertificates.issueClient('other', []),
      '401',
    ],
    [
      'a user who plays the proxy',
      () => ({ 'x-remote-user': 'root', 'x-remote-group': 'system:masters' }),
      () => certificates.issueClient('front-proxy', []),
      'front-proxy',
    ],
    ['nobody who plays the proxy', () => ({ 'x-remote-user': 'root' }), undefined, '401'],
    ['a proxy that speaks for nobody', () => ({}), () => proxyCertificates.issueClient('front-proxy', []), '401'],
    ['a token that a webhook knows', () => bearer('known-to-webhook'), undefined, 'hook remote'],
  ])('%s', async (_, headers, client, expected) => {
    expect(await whoami(headers(), client?.())).toBe(expected)
  })

  it('nobody may ask for health and version only', async () => {
    const statuses = await Promise.all(
      ['/livez', '/version', '/api', '/metrics', '/', '/api/v1/pods', '/openid/v1/jwks'].map((path) =>
        send('GET', path),
      ),
    )
    expect(statuses.map(({ status }) => status)).toEqual([200, 200, 401, 401, 401, 401, 401])
  })
})

describe('a bootstrap token', () => {
  const make = (id: string, change: Record<string, string> = {}) =>
    server.create(
      RESOURCES.secrets,
      {
        metadata: { name: `bootstrap-token-${id}` },
        type: 'bootstrap.kubernetes.io/token',
        stringData: {
          'token-id': id,
          'token-secret': '0123456789abcdef',
          'usage-bootstrap-authentication': 'true',
          'auth-extra-groups': 'system:bootstrappers:workers',
          ...change,
        },
      },
      'kube-system',
    )

  it.each<[string, string, Record<string, string>, string]>([
    ['is a joining machine', 'aaaaa1', {}, 'system:bootstrap:aaaaa1 system:bootstrappers system:bootstrappers:workers'],
    ['with another secret', 'aaaaa2', { 'token-secret': 'fedcba9876543210' }, '401'],
    ['for signing only', 'aaaaa3', { 'usage-bootstrap-authentication': 'false' }, '401'],
    ['that has ended', 'aaaaa4', { expiration: '2020-01-01T00:00:00Z' }, '401'],
    ['with a stronger group', 'aaaaa5', { 'auth-extra-groups': 'system:masters' }, '401'],
    ['of another id', 'aaaaa6', { 'token-id': 'bbbbbb' }, '401'],
  ])('%s', async (_, id, change, expected) => {
    await make(id, change)
    expect(await whoami(bearer(`${id}.0123456789abcdef`))).toBe(expected)
  })
})

describe('an ID token of OpenID Connect', () => {
  const claims = (change: object = {}) => ({
    iss: provider.url,
    aud: 'sampan',
    exp: Math.floor(Date.now() / 1000) + 600,
    sub: '42',
    email: 'ann@example.com',
    email_verified: true,
    groups: ['dev', 'ops'],
    ...change,
  })

  it.each<[string, () => string, string]>([
    ['names a user and groups', () => provider.sign(claims()), 'ann@example.com oidc:dev oidc:ops'],
    ['for another client', () => provider.sign(claims({ aud: 'other' })), '401'],
    [
      'for several clients',
      () => provider.sign(claims({ aud: ['other', 'sampan'] })),
      'ann@example.com oidc:dev oidc:ops',
    ],
    ['that has ended', () => provider.sign(claims({ exp: 1 })), '401'],
    ['of another issuer', () => provider.sign(claims({ iss: 'https://evil.example' })), '401'],
    ['of an unverified address', () => provider.sign(claims({ email_verified: false })), '401'],
    ['without a name', () => provider.sign(claims({ email: undefined })), '401'],
    ['signed by another', () => signJwt(claims(), keyPairOf(newKey()).signing), '401'],
  ])('%s', async (_, token, expected) => {
    expect(await whoami(bearer(token()))).toBe(expected)
  })
})

describe('impersonation', () => {
  beforeAll(async () => {
    const rule = (resources: string[], more: object = {}) => ({
      verbs: ['impersonate'],
      apiGroups: [''],
      resources,
      ...more,
    })
    await server.grant('helper', [
      rule(['users'], { resourceNames: ['ann'] }),
      rule(['groups'], { resourceNames: ['dev'] }),
    ])
    await server.grant('helper', [
      rule(['userextras/scopes'], { apiGroups: ['authentication.k8s.io'], resourceNames: ['view'] }),
    ])
    await server.grant('helper', [rule(['serviceaccounts'])], 'default')
  })
  const helper = () => certificates.issueClient('helper', [])
  const admin = () => certificates.issueClient('root', ['system:masters'])

  it.each<[string, () => KeyPair, Headers, string]>([
    ['an administrator as anybody', admin, { 'impersonate-user': 'zoe', 'impersonate-group': ['a', 'b'] }, 'zoe a b'],
    ['an administrator gives up the rights', admin, { 'impersonate-user': 'zoe' }, 'zoe'],
    ['the user one may be', helper, { 'impersonate-user': 'ann' }, 'ann'],
    ['the user and the group', helper, { 'impersonate-user': 'ann', 'impersonate-group': 'dev' }, 'ann dev'],
    ['another user', helper, { 'impersonate-user': 'root' }, '403'],
    ['another group', helper, { 'impersonate-user': 'ann', 'impersonate-group': 'system:masters' }, '403'],
    ['one group more', helper, { 'impersonate-user': 'ann', 'impersonate-group': ['dev', 'system:masters'] }, '403'],
    ['a uid', helper, { 'impersonate-user': 'ann', 'impersonate-uid': '1' }, '403'],
    ['an extra one may have', helper, { 'impersonate-user': 'ann', 'impersonate-extra-scopes': 'view' }, 'ann'],
    ['another extra', helper, { 'impersonate-user': 'ann', 'impersonate-extra-scopes': 'admin' }, '403'],
    [
      'an account',
      helper,
      { 'impersonate-user': 'system:serviceaccount:default:x' },
      'system:serviceaccount:default:x system:serviceaccounts system:serviceaccounts:default',
    ],
    ['an account of another namespace', helper, { 'impersonate-user': 'system:serviceaccount:kube-system:x' }, '403'],
    ['a group without a user', admin, { 'impersonate-group': 'dev' }, '400'],
    ['an empty user', admin, { 'impersonate-user': '' }, '400'],
  ])('%s', async (_, client, headers, expected) => {
    expect(await whoami(headers, client())).toBe(expected)
  })
})

describe('path tricks', () => {
  it.each([
    ['/api/v1/namespaces/default/secrets/x', 403],
    ['//api/v1/namespaces/default/secrets', 403],
    ['/api//v1/namespaces/default/secrets', 403],
    ['/api/v1/namespaces/default/pods/../secrets', 400],
    ['/api/v1/namespaces/default/pods/%2e%2e/secrets', 400],
    ['/api/v1/namespaces/default%2Fsecrets/x', 400],
    ['/api/v1/namespaces/default/%73ecrets', 403],
    ['/%61pi/v1/secrets', 403],
    ['/api/v1/watch/secrets', 403],
    ['/version/../api/v1/secrets', 403],
    ['/healthz/../api/v1/secrets', 403],
    ['/API/V1/secrets', 403],
    ['/api/v1/secrets?namespace=default&as=root', 403],
    ['/api/v1/namespaces/kube-system/services/https:kubernetes:/proxy/api/v1/secrets', 403],
  ])('%s', async (path, status) => {
    expect((await send('GET', path, {}, certificates.issueClient('nobody', []))).status).toBe(status)
  })
})

describe('the issuer', () => {
  it('tells service accounts where its keys are', async () => {
    const configuration = await send('GET', '/.well-known/openid-configuration', bearer(accountToken))
    expect(configuration.body).toMatchObject({
      issuer: 'https://kubernetes.default.svc.cluster.local',
      jwks_uri: 'https://kubernetes.default.svc.cluster.local/openid/v1/jwks',
      id_token_signing_alg_values_supported: ['ES256'],
    })
    const { body } = await send('GET', '/openid/v1/jwks', bearer(accountToken))
    expect(body.keys).toEqual([expect.objectContaining({ kty: 'EC', alg: 'ES256', use: 'sig', crv: 'P-256' })])
    expect(JSON.stringify(body)).not.toContain('"d"')
  })
})
