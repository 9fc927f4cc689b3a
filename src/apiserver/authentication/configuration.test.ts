import { generateKeyPairSync } from 'node:crypto'
import { request } from 'node:https'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../base/clock.ts'
import { silentLogger } from '../../base/log.ts'
import { type ClusterCertificates, loadCertificates } from '../../cluster/certificates.ts'
import { RESOURCES, SecureServer } from '../security.fixture.ts'
import { checkAuthenticationConfiguration } from './check-configuration.ts'
import { type ClaimCompiler, loadClaimCompiler } from './claim-expressions.ts'
import type { AuthenticationConfiguration, JwtConfiguration } from './configuration.ts'
import { startConfigured } from './configured.ts'
import { Provider } from './oidc-provider.fixture.ts'

type Part = Partial<JwtConfiguration>
const configuration = (...jwt: object[]): AuthenticationConfiguration => ({
  kind: 'AuthenticationConfiguration',
  apiVersion: 'apiserver.config.k8s.io/v1',
  jwt: jwt as JwtConfiguration[],
})

describe('a configuration is refused', () => {
  let compiler: ClaimCompiler
  beforeAll(async () => {
    compiler = await loadClaimCompiler()
  })
  const ISSUER = { url: 'https://issuer.example', audiences: ['a'] }
  const jwt = (part: object = {}) => ({
    issuer: ISSUER,
    claimMappings: { username: { claim: 'sub', prefix: '' } },
    ...part,
  })
  const issuer = (part: object) => jwt({ issuer: { ...ISSUER, ...part } })
  const mapped = (part: object) => jwt({ claimMappings: { username: { claim: 'sub', prefix: '' }, ...part } })
  const rule = (part: object) => jwt({ claimValidationRules: [part] })
  const extra = (key: string, valueExpression = "'a'") => mapped({ extra: [{ key, valueExpression }] })

  it.each<[string, AuthenticationConfiguration, string]>([
    ['of another kind', { kind: 'Pod', apiVersion: 'v1' }, 'this is no AuthenticationConfiguration'],
    ['with a field that is none', configuration(jwt({ isuer: {} })), 'jwt[0].isuer: Invalid value: {}: unknown field'],
    [
      'with a text for a list',
      configuration(issuer({ audiences: 'a' })),
      'jwt[0].issuer.audiences: Invalid value: "a": must be a list',
    ],
    ['without a URL', configuration(issuer({ url: '' })), 'jwt[0].issuer.url: Required value'],
    ['without TLS', configuration(issuer({ url: 'http://a' })), 'Invalid value: "http://a": URL scheme must be https'],
    ['with a password', configuration(issuer({ url: 'https://a:b@c' })), 'must not contain a username or password'],
    ['with a query', configuration(issuer({ url: 'https://a?b' })), 'URL must not contain a query'],
    ['with a fragment', configuration(issuer({ url: 'https://a#b' })), 'URL must not contain a fragment'],
    [
      'as this server',
      configuration(issuer({ url: 'https://own' })),
      'must not overlap with disallowed issuers: [https://own]',
    ],
    ['twice the same', configuration(jwt(), jwt()), 'jwt[1].issuer.url: Duplicate value: "https://issuer.example"'],
    [
      'discovered where it is',
      configuration(issuer({ discoveryURL: 'https://issuer.example/' })),
      'discoveryURL must be different from URL',
    ],
    ['for nobody', configuration(issuer({ audiences: [] })), 'at least one jwt[0].issuer.audiences is required'],
    [
      'for two at once',
      configuration(issuer({ audiences: ['a', 'b'] })),
      'audienceMatchPolicy must be MatchAny for multiple audiences',
    ],
    [
      'with another policy',
      configuration(issuer({ audienceMatchPolicy: 'All' })),
      'must be empty or MatchAny for single audience',
    ],
    [
      'with a broken authority',
      configuration(issuer({ certificateAuthority: 'x' })),
      'certificateAuthority: Invalid value: "<omitted>"',
    ],
    [
      'without a name',
      configuration(jwt({ claimMappings: {} })),
      'claimMappings.username: Required value: claim or expression is required',
    ],
    [
      'without a prefix',
      configuration(mapped({ username: { claim: 'sub' } })),
      'username.prefix: Required value: prefix is required when claim is set',
    ],
    [
      'with claim and expression',
      configuration(mapped({ username: { claim: 'a', expression: 'claims.a' } })),
      "claim and expression can't both be set",
    ],
    [
      'with prefix and expression',
      configuration(mapped({ username: { prefix: 'a', expression: 'claims.a' } })),
      'may not be specified when expression is set',
    ],
    [
      'with a broken expression',
      configuration(mapped({ groups: { expression: 'claims.' } })),
      'jwt[0].claimMappings.groups.expression: Invalid value: "claims.": compilation failed: ERROR: <input>:1:',
    ],
    [
      'with another variable',
      configuration(mapped({ uid: { expression: 'user.uid' } })),
      "undeclared reference to 'user'",
    ],
    [
      'with an unverified address',
      configuration(mapped({ username: { expression: 'claims.email' } })),
      'claims.email_verified must be used in',
    ],
    [
      'with a rule about nothing',
      configuration(rule({})),
      'claimValidationRules[0]: Required value: claim or expression is required',
    ],
    [
      'with a rule that is no condition',
      configuration(rule({ expression: "'a'" })),
      'claimValidationRules[0].expression: Invalid value: "\'a\'": must evaluate to bool',
    ],
    [
      'with a message for a claim',
      configuration(rule({ claim: 'a', message: 'b' })),
      'may not be specified when claim is set',
    ],
    [
      'with a user rule without one',
      configuration(jwt({ userValidationRules: [{}] })),
      'userValidationRules[0].expression: Required value',
    ],
    [
      'with a user field that is none',
      configuration(jwt({ userValidationRules: [{ expression: "user.name == 'a'" }] })),
      "undefined field 'name'",
    ],
    [
      'with an extra of no domain',
      configuration(extra('key')),
      'must be a domain-prefixed path (such as "acme.io/foo")',
    ],
    ['with an extra in capitals', configuration(extra('a.io/Key')), 'must be lowercase'],
    ['with an extra of Kubernetes', configuration(extra('sub.k8s.io/key')), 'reserved for Kubernetes use'],
    ['with an extra of no value', configuration(extra('a.io/key', '')), 'extra[0].valueExpression: Required value'],
    [
      'with places for nobody',
      { ...configuration(), anonymous: { conditions: [{ path: '/a' }] } },
      'enabled should be set to true when conditions are defined',
    ],
  ])('%s', (_, wrong, message) => {
    expect(() => checkAuthenticationConfiguration(wrong, compiler, ['https://own'])).toThrow(message)
  })

  it('or taken', () => {
    const verified = mapped({ username: { expression: "claims.?email_verified.orValue(false) ? claims.email : 'x'" } })
    const good = { ...verified, issuer: { ...ISSUER, audiences: ['a', 'b'], audienceMatchPolicy: 'MatchAny' } }
    expect(() => checkAuthenticationConfiguration(configuration(good), compiler, [])).not.toThrow()
  })
})

describe('a token', () => {
  let certificates: ClusterCertificates
  let provider: Provider
  let hidden: Provider
  let server: SecureServer
  let replace: (next: AuthenticationConfiguration) => Promise<void>
  let port: number

  const withExpressions = (): JwtConfiguration => ({
    issuer: {
      url: provider.issuer,
      certificateAuthority: certificates.ca.cert,
      audiences: ['sampan', 'other'],
      audienceMatchPolicy: 'MatchAny',
    },
    claimValidationRules: [
      { expression: 'claims.exp - claims.iat <= 3600', message: 'lives too long' },
      { claim: 'tenant', requiredValue: 'acme' },
    ],
    claimMappings: {
      username: { expression: "'acme:' + claims.sub" },
      groups: { expression: "claims.roles.split(',') + (claims.admin ? ['admins'] : [])" },
      uid: { claim: 'oid' },
      extra: [
        { key: 'acme.io/team', valueExpression: 'claims.acme__dot__io__slash__team' },
        { key: 'acme.io/none', valueExpression: "''" },
      ],
    },
    userValidationRules: [
      { expression: "!user.username.startsWith('acme:system:')", message: 'may not be a part of the system' },
      { expression: "user.groups.all(group, group != 'root')", message: 'may not be root' },
    ],
  })
  const elsewhere = (): Part => ({
    issuer: {
      url: 'https://hidden.example',
      discoveryURL: `${hidden.url}/somewhere/openid-configuration`,
      certificateAuthority: certificates.ca.cert,
      audiences: ['sampan'],
    },
    claimMappings: { username: { claim: 'sub', prefix: 'hidden:' }, groups: { claim: 'groups', prefix: 'g:' } },
  })

  beforeAll(async () => {
    certificates = await loadCertificates({ clock: systemClock, serverNames: ['127.0.0.1', 'localhost'] })
    provider = await Provider.start(certificates)
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const key = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
    hidden = await Provider.start(certificates, { key, issuer: 'https://hidden.example' })
    server = await SecureServer.start({
      authentication: {
        configuration: {
          ...configuration(withExpressions(), elsewhere()),
          anonymous: { enabled: true, conditions: [{ path: '/open' }] },
        },
        configurationChanges: (take) => {
          replace = take
        },
      },
    })
    port = (
      await server.server.listen({
        host: '127.0.0.1',
        port: 0,
        tls: { ...certificates.server, clientCa: certificates.ca.cert },
      })
    ).port
  })
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]()
    await provider?.[Symbol.asyncDispose]()
    await hidden?.[Symbol.asyncDispose]()
  })

  const now = Math.floor(Date.now() / 1000)
  const claims = (change: object = {}) => ({
    iss: provider.issuer,
    aud: 'sampan',
    iat: now,
    exp: now + 600,
    sub: 'ann',
    oid: '42',
    roles: 'dev,ops',
    admin: true,
    tenant: 'acme',
    'acme.io/team': ['blue', '', 'green'],
    ...change,
  })
  const review = async (token: string) => {
    const body = { spec: { token } }
    const made = await server.admin.call({ verb: 'create', resource: RESOURCES.tokenReviews, body })
    return (made as { status?: { authenticated?: boolean; error?: string; user?: Record<string, unknown> } }).status!
  }

  it('becomes a user by its expressions', async () => {
    expect(await review(provider.sign(claims({ jti: 'j' })))).toEqual({
      authenticated: true,
      audiences: expect.any(Array),
      user: {
        username: 'acme:ann',
        uid: '42',
        groups: ['dev', 'ops', 'admins', 'system:authenticated'],
        extra: { 'authentication.kubernetes.io/credential-id': ['JTI=j'], 'acme.io/team': ['blue', 'green'] },
      },
    })
  })

  it.each<[string, object, string]>([
    ['for others', { aud: 'elsewhere' }, 'oidc: verify token: expected audience in'],
    ['that has ended', { exp: now - 1 }, 'oidc: verify token: token is expired'],
    [
      'that a rule refuses',
      { exp: now + 7200 },
      "validation expression 'claims.exp - claims.iat <= 3600' failed: lives too long",
    ],
    ['without a claim', { tenant: undefined }, 'oidc: required claim tenant not present in ID token'],
    ['with another claim', { tenant: 'b' }, 'oidc: required claim tenant value does not match. Got = b, want = acme'],
    ['of another type', { admin: 'yes' }, 'oidc: error evaluating group claim: expression'],
    ['that names no text', { 'acme.io/team': 7 }, 'expression must return a string or a list of strings'],
    ['of a part of the system', { sub: 'system:admin' }, 'failed: may not be a part of the system'],
    ['of a forbidden group', { roles: 'root' }, 'failed: may not be root'],
    ['without a uid', { oid: undefined }, 'oidc: parse uid claim "oid": claim not present'],
  ])('%s is refused', async (_, change, message) => {
    const { authenticated, error } = await review(provider.sign(claims(change)))
    expect(authenticated ?? false).toBe(false)
    expect(error).toContain(message)
  })

  it.each(['RS256', 'RS512', 'PS256'] as const)('of an issuer that is found elsewhere, with %s', async (algorithm) => {
    const token = hidden.sign(
      { iss: 'https://hidden.example', aud: 'sampan', exp: now + 600, sub: 'bob', groups: ['x'] },
      algorithm,
    )
    expect((await review(token)).user).toMatchObject({
      username: 'hidden:bob',
      groups: ['g:x', 'system:authenticated'],
    })
  })

  it('may be left out at some places only', async () => {
    expect(await statusOf('/open')).toBe(403)
    expect(await statusOf('/open?x=1')).toBe(403)
    expect(await statusOf('/open/more')).toBe(401)
    expect(await statusOf('/api')).toBe(401)
  })

  it('is judged by the newest configuration that is good', async () => {
    const token = provider.sign(claims())
    await replace({ ...configuration(), jwt: 'all' as unknown as [] })
    await replace(configuration({ issuer: { url: 'http://unsafe' } }))
    expect((await review(token)).authenticated).toBe(true)
    await replace(configuration(elsewhere()))
    expect((await review(token)).authenticated ?? false).toBe(false)
    await replace(
      configuration({
        ...withExpressions(),
        claimMappings: { username: { claim: 'sub', prefix: 'new:' } },
        userValidationRules: [],
      }),
    )
    expect((await review(token)).user).toMatchObject({ username: 'new:ann', groups: ['system:authenticated'] })
  })

  const statusOf = (path: string) =>
    new Promise<number>((resolve, reject) => {
      const asked = request({ host: '127.0.0.1', port, path, ca: certificates.ca.cert, agent: false }, (response) => {
        response.resume()
        resolve(response.statusCode!)
      })
      asked.on('error', reject)
      asked.end()
    })
})

it('does not start with a configuration that is wrong', async () => {
  const context = {
    clock: systemClock,
    log: silentLogger,
    signal: new AbortController().signal,
    serverAudiences: [],
    ownIssuers: [],
  }
  await expect(startConfigured(configuration({}), undefined, context)).rejects.toThrow(
    'jwt[0].issuer.url: Required value',
  )
})
