import { createHmac, createPublicKey, generateKeyPairSync, sign } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { VirtualClock } from '../../base/virtual-clock.ts'
import { type Anything, call, outcome, RESOURCES, refusal, SecureServer } from '../security.fixture.ts'
import { decodeJwt, keyPairOf, signJwt } from './jwt.ts'

const ISSUER = 'https://kubernetes.default.svc.cluster.local'
const newKey = (type: 'ec' | 'rsa' = 'ec') => {
  const pair =
    type === 'ec'
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
      : generateKeyPairSync('rsa', { modulusLength: 2048 })
  return pair.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
}
const KEY = newKey()

let clock: VirtualClock
let server: SecureServer
let account: Anything
beforeEach(async () => {
  clock = new VirtualClock()
  server = await SecureServer.start({ clock, authentication: { serviceAccounts: { keys: async () => [KEY] } } })
  account = await server.create(RESOURCES.serviceAccounts, { metadata: { name: 'robot' } })
})
afterEach(() => server[Symbol.asyncDispose]())

const requestToken = (spec: object = {}, name = 'robot', transport = server.admin) =>
  call(transport, {
    verb: 'create',
    resource: RESOURCES.serviceAccounts,
    namespace: 'default',
    name,
    subresource: 'token',
    body: { spec },
  })
const tokenFor = async (spec?: object) => ((await requestToken(spec)).status as { token: string }).token

interface Review {
  authenticated?: boolean
  user: { username?: string; uid?: string; groups?: string[]; extra?: Record<string, string[]> }
  audiences?: string[]
  error?: string
}
const review = async (token: string, audiences?: string[]): Promise<Review> => {
  const body = { spec: { token, ...(audiences && { audiences }) } }
  return (await call(server.admin, { verb: 'create', resource: RESOURCES.tokenReviews, body })).status as Review
}
const isGood = async (token: string) => (await review(token)).authenticated === true
const pod = (name: string, spec: object = {}) =>
  server.create(RESOURCES.pods, {
    metadata: { name },
    spec: { containers: [{ name: 'c', image: 'i' }], serviceAccountName: 'robot', ...spec },
  })
const remove = (resource: (typeof RESOURCES)['pods'], name: string) =>
  server.admin.call({
    verb: 'delete',
    resource,
    ...(resource.namespaced && { namespace: 'default' }),
    name,
    body: { gracePeriodSeconds: 0 },
  })
const boundTo = (kind: string, { metadata: { name, uid } }: Anything) => ({
  boundObjectRef: { kind, apiVersion: 'v1', name, uid },
})

describe('a token', () => {
  it('names its account, until it ends', async () => {
    const answer = await requestToken({ expirationSeconds: 600 })
    const { token } = answer.status as { token: string }
    expect(decodeJwt(token)?.claims).toMatchObject({
      iss: ISSUER,
      aud: [ISSUER],
      sub: 'system:serviceaccount:default:robot',
      'kubernetes.io': { namespace: 'default', serviceaccount: { name: 'robot', uid: account.metadata.uid } },
    })
    expect(await review(token)).toEqual({
      authenticated: true,
      audiences: [ISSUER],
      user: {
        username: 'system:serviceaccount:default:robot',
        uid: account.metadata.uid,
        groups: ['system:serviceaccounts', 'system:serviceaccounts:default', 'system:authenticated'],
        extra: { 'authentication.kubernetes.io/credential-id': [expect.stringMatching(/^JTI=/)] },
      },
    })
    await clock.advanceAsync(599_000)
    expect(await isGood(token)).toBe(true)
    await clock.advanceAsync(1_000)
    expect((await review(token)).error).toBe('service account token has expired')
  })

  it('ends with its account, and another of the same name is not it', async () => {
    const token = await tokenFor()
    expect(await isGood(token)).toBe(true)
    await remove(RESOURCES.serviceAccounts, 'robot')
    expect(await isGood(token)).toBe(false)
    await server.create(RESOURCES.serviceAccounts, { metadata: { name: 'robot' } })
    expect(await isGood(token)).toBe(false)
  })

  it('bound to a pod tells the pod and its node, and ends with the pod', async () => {
    const node = await server.create(RESOURCES.nodes, { metadata: { name: 'n1' } })
    const bound = await pod('p', { nodeName: 'n1' })
    const token = await tokenFor(boundTo('Pod', bound))
    const prefix = 'authentication.kubernetes.io'
    expect((await review(token)).user.extra).toMatchObject({
      [`${prefix}/pod-name`]: ['p'],
      [`${prefix}/pod-uid`]: [bound.metadata.uid],
      [`${prefix}/node-name`]: ['n1'],
      [`${prefix}/node-uid`]: [node.metadata.uid],
    })
    await remove(RESOURCES.pods, 'p')
    expect(await isGood(token)).toBe(false)
    await pod('p')
    expect(await isGood(token)).toBe(false)
  })

  it.each([
    ['Secret', RESOURCES.secrets],
    ['Node', RESOURCES.nodes],
  ])('bound to a %s ends with it', async (kind, resource) => {
    const token = await tokenFor(boundTo(kind, await server.create(resource, { metadata: { name: 'b' } })))
    expect(await isGood(token)).toBe(true)
    await remove(resource as (typeof RESOURCES)['pods'], 'b')
    expect(await isGood(token)).toBe(false)
  })

  it('is for its audiences only', async () => {
    const token = await tokenFor({ audiences: ['vault', 'db'] })
    expect(await isGood(token)).toBe(false)
    expect(await review(token, ['vault', 'other'])).toMatchObject({ authenticated: true, audiences: ['vault'] })
    expect((await review(token, ['other'])).authenticated).toBeUndefined()
    expect((await review(await tokenFor(), ['vault'])).authenticated).toBeUndefined()
  })

  it.each([
    ['too short a life', { expirationSeconds: 599 }, '422 Invalid'],
    ['too long a life', { expirationSeconds: 2 ** 32 + 1 }, '422 Invalid'],
    ['an unknown object', { boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'none' } }, '404 NotFound'],
    [
      'an object of another kind',
      { boundObjectRef: { kind: 'Service', apiVersion: 'v1', name: 'x' } },
      '400 BadRequest',
    ],
  ])('is not made with %s', async (_, spec, expected) => {
    expect(await outcome(requestToken(spec))).toBe(expected)
  })

  it('is not made for nobody, for another’s pod, or for a pod that is gone', async () => {
    expect(await outcome(requestToken({}, 'nobody'))).toBe('404 NotFound')
    const other = await pod('other', { serviceAccountName: 'someone' })
    expect(await refusal(requestToken(boundTo('Pod', other)))).toContain('different serviceaccount name')
    const own = await pod('own')
    const wrong = { ...own, metadata: { ...own.metadata, uid: 'former' } }
    expect(await outcome(requestToken(boundTo('Pod', wrong)))).toBe('409 Conflict')
  })
})

describe('a forged token', () => {
  const now = () => Math.floor(clock.now() / 1000)
  const claims = (change: object = {}) => ({
    iss: ISSUER,
    aud: [ISSUER],
    exp: now() + 3600,
    nbf: now(),
    sub: 'system:serviceaccount:default:robot',
    'kubernetes.io': { namespace: 'default', serviceaccount: { name: 'robot', uid: account.metadata.uid } },
    ...change,
  })
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const own = () => keyPairOf(KEY).signing
  const publicPem = () => createPublicKey(KEY).export({ type: 'spki', format: 'pem' }) as string
  const hmac = (header: object, key: string | Buffer) => {
    const text = `${encode(header)}.${encode(claims())}`
    return `${text}.${createHmac('sha256', key).update(text).digest('base64url')}`
  }

  it('would be good if it were not forged', async () => {
    expect(await isGood(signJwt(claims(), own()))).toBe(true)
  })

  it.each<[string, () => string]>([
    ['nothing', () => 'x'],
    ['two parts', () => `${encode({ alg: 'ES256' })}.${encode(claims())}`],
    ['no algorithm', () => `${encode({ alg: 'none' })}.${encode(claims())}.x`],
    ['no algorithm and no signature', () => `${encode({ alg: 'none' })}.${encode(claims())}.`],
    ['algorithm None', () => `${encode({ alg: 'None', kid: own().id })}.${encode(claims())}.AAAA`],
    ['the public key as a shared secret', () => hmac({ alg: 'HS256', kid: own().id }, publicPem())],
    ['an empty shared secret', () => hmac({ alg: 'HS256' }, '')],
    ['another key', () => signJwt(claims(), keyPairOf(newKey()).signing)],
    ['another key of the right id', () => signJwt(claims(), { ...keyPairOf(newKey()).signing, id: own().id })],
    ['an RSA key', () => signJwt(claims(), keyPairOf(newKey('rsa')).signing)],
    [
      'its own key inside',
      () => {
        const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
        const header = { alg: 'ES256', jwk: pair.publicKey.export({ format: 'jwk' }) }
        const text = `${encode(header)}.${encode(claims())}`
        const signature = sign('sha256', Buffer.from(text), { key: pair.privateKey, dsaEncoding: 'ieee-p1363' })
        return `${text}.${signature.toString('base64url')}`
      },
    ],
    [
      'changed claims',
      () => {
        const [header, , signature] = signJwt(claims(), own()).split('.')
        return `${header}.${encode(claims({ sub: 'system:serviceaccount:kube-system:admin' }))}.${signature}`
      },
    ],
    [
      'an all-zero signature',
      () => `${signJwt(claims(), own()).split('.').slice(0, 2).join('.')}.${Buffer.alloc(64).toString('base64url')}`,
    ],
    [
      'a signature in DER',
      () => {
        const text = signJwt(claims(), own()).split('.').slice(0, 2).join('.')
        return `${text}.${sign('sha256', Buffer.from(text), own().key).toString('base64url')}`
      },
    ],
    ['a time that is over', () => signJwt(claims({ exp: now() - 1 }), own())],
    ['no end', () => signJwt(claims({ exp: undefined }), own())],
    ['a time to come', () => signJwt(claims({ nbf: now() + 3600 }), own())],
    ['another issuer', () => signJwt(claims({ iss: 'https://evil.example' }), own())],
    ['another audience', () => signJwt(claims({ aud: ['vault'] }), own())],
    ['no audience', () => signJwt(claims({ aud: undefined }), own())],
    ['another account than it says', () => signJwt(claims({ sub: 'system:serviceaccount:kube-system:admin' }), own())],
    [
      'an account that is gone',
      () =>
        signJwt(
          claims({ 'kubernetes.io': { namespace: 'default', serviceaccount: { name: 'robot', uid: 'former' } } }),
          own(),
        ),
    ],
    ['a huge body', () => `${encode({ alg: 'ES256' })}.${'A'.repeat(100_000)}.AAAA`],
  ])('with %s names nobody', async (_, forge) => {
    const status = await review(forge())
    expect(status.authenticated).toBeUndefined()
    expect(status.user).toEqual({})
  })
})

describe('a secret of the token type', () => {
  const secret = (name: string, accountName: string) =>
    server.create(RESOURCES.secrets, {
      metadata: { name, annotations: { 'kubernetes.io/service-account.name': accountName } },
      type: 'kubernetes.io/service-account-token',
    })
  const tokenIn = (object: Anything) =>
    Buffer.from((object.data as Record<string, string>).token ?? '', 'base64').toString()

  it('is given a token that ends with the secret', async () => {
    const made = await secret('legacy', 'robot')
    expect(made.metadata.annotations).toMatchObject({ 'kubernetes.io/service-account.uid': account.metadata.uid })
    const token = tokenIn(made)
    expect((await review(token)).user.username).toBe('system:serviceaccount:default:robot')
    await remove(RESOURCES.secrets, 'legacy')
    expect(await isGood(token)).toBe(false)
    const again = tokenIn(await secret('legacy', 'robot'))
    expect(await isGood(again)).toBe(true)
  })

  it('of nobody is given none', async () => {
    expect((await secret('lost', 'nobody')).data).toBeUndefined()
  })

  it('holds no token of another secret', async () => {
    const token = tokenIn(await secret('one', 'robot'))
    await server.admin.call({
      verb: 'patch',
      resource: RESOURCES.secrets,
      namespace: 'default',
      name: 'one',
      patchType: 'application/merge-patch+json',
      body: { data: { token: Buffer.from('other').toString('base64') } },
    })
    expect(await isGood(token)).toBe(false)
  })
})

describe('keys', () => {
  it('can be changed without a break', async () => {
    const token = await tokenFor()
    const next = newKey('rsa')
    const keys = { authentication: { serviceAccounts: { keys: async () => [next, KEY] } } }
    await using rotated = await SecureServer.start({ clock, store: server.store, ...keys })
    const reviewed = async (text: string) =>
      (
        (
          await call(rotated.admin, {
            verb: 'create',
            resource: RESOURCES.tokenReviews,
            body: { spec: { token: text } },
          })
        ).status as Review
      ).authenticated
    expect(await reviewed(token)).toBe(true)
    const fresh = ((await requestToken({}, 'robot', rotated.admin)).status as { token: string }).token
    expect(decodeJwt(fresh)?.header).toMatchObject({ alg: 'RS256' })
    expect(await reviewed(fresh)).toBe(true)
    expect(await isGood(fresh)).toBe(false)
  })
})
