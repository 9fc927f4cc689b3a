import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../base/clock.ts'
import { type ClusterCertificates, loadCertificates } from '../../cluster/certificates.ts'
import { oidcTokens } from './oidc.ts'
import { Provider } from './oidc-provider.fixture.ts'

let certificates: ClusterCertificates
let provider: Provider
let other: Provider
let stranger: Provider

beforeAll(async () => {
  const names = { clock: systemClock, serverNames: ['127.0.0.1'] }
  certificates = await loadCertificates(names)
  provider = await Provider.start(certificates)
  other = await Provider.start(certificates)
  stranger = await Provider.start(await loadCertificates(names))
})
afterAll(async () => {
  for (const one of [provider, other, stranger]) await one?.[Symbol.asyncDispose]()
})
beforeEach(() => {
  for (const one of [provider, other, stranger]) one.claims.clear()
})

const inTime = () => Math.floor(Date.now() / 1000) + 600
const claims = (change: object) => ({ iss: provider.issuer, aud: 'sampan', exp: inTime(), sub: 'ann', ...change })
/** A token whose groups are at an endpoint. */
const pointing = (endpoint: string, more: object = {}) =>
  provider.sign(
    claims({
      _claim_names: { groups: 'src1' },
      _claim_sources: { src1: { endpoint, access_token: 'f005ba11' } },
      ...more,
    }),
  )
/** What the endpoint answers. */
const held = (by: Provider, change: object = {}) =>
  by.sign({ iss: by.issuer, aud: 'sampan', exp: inTime(), groups: ['dev', 'ops'], ...change })

async function groupsOf(token: string, groupsClaim: string | undefined = 'groups'): Promise<string> {
  const options = {
    issuerUrl: provider.issuer,
    clientId: 'sampan',
    ca: certificates.ca.cert,
    usernamePrefix: '-',
    groupsPrefix: 'o:',
    signingAlgorithms: ['ES256'] as const,
    ...(groupsClaim && { groupsClaim }),
  }
  const tokens = oidcTokens(options, ['api'], systemClock)
  try {
    const found = await tokens.authenticate(token, ['api'])
    return found ? found.user.groups.filter((group) => group !== 'system:authenticated').join(' ') : 'unknown'
  } catch (error) {
    return (error as Error).message
  }
}

describe('groups that are elsewhere', () => {
  it.each<[string, () => string, string]>([
    [
      'are asked for with the token that belongs to them',
      () => {
        provider.claims.set('/groups', { body: held(provider), token: 'f005ba11' })
        return pointing(`${provider.url}/groups`)
      },
      'o:dev o:ops',
    ],
    [
      'can be one group, and of an issuer of their own',
      () => {
        other.claims.set('/groups', { body: held(other, { groups: 'dev' }) })
        return pointing(`${other.url}/groups`)
      },
      'o:dev',
    ],
    [
      'are not asked for if the token has them',
      () => pointing(`${provider.url}/nowhere`, { groups: ['here'] }),
      'o:here',
    ],
    ['are none if other claims are elsewhere', () => pointing('x', { _claim_names: { address: 'src1' } }), ''],
    [
      'are passed over if they are aggregated',
      () => pointing('', { _claim_sources: { src1: { JWT: held(provider) } } }),
      '',
    ],
    [
      'without sources',
      () => pointing('', { _claim_sources: undefined }),
      'oidc: could not expand distributed claims: oidc: no claim sources',
    ],
    [
      'from a source that is not there',
      () => pointing('', { _claim_names: { groups: 'src2' } }),
      'oidc: could not expand distributed claims: id token _claim_names contained a source src2 missing in _claims_sources',
    ],
    [
      'with names that are none',
      () => pointing('', { _claim_names: 'groups' }),
      'oidc: could not expand distributed claims: oidc: error parsing distributed claim names',
    ],
    [
      'where they are refused',
      () => {
        provider.claims.set('/groups', { body: held(provider), token: 'another' })
        return pointing(`${provider.url}/groups`)
      },
      'while getting distributed claim "groups": ',
    ],
    [
      'where the answer is no token',
      () => {
        provider.claims.set('/groups', { body: '{"groups":["dev"]}' })
        return pointing(`${provider.url}/groups`)
      },
      'failed for claim "groups"',
    ],
    [
      'in a token that has ended',
      () => {
        provider.claims.set('/groups', { body: held(provider, { exp: 1 }) })
        return pointing(`${provider.url}/groups`)
      },
      'verify distributed claim token: token is expired',
    ],
    [
      'in a token for others',
      () => {
        provider.claims.set('/groups', { body: held(provider, { aud: 'other' }) })
        return pointing(`${provider.url}/groups`)
      },
      'verify distributed claim token: expected audience in ["sampan"] got "other"',
    ],
    [
      'in a token that another signed',
      () => {
        provider.claims.set('/groups', { body: held(other, { iss: provider.issuer }) })
        return pointing(`${provider.url}/groups`)
      },
      'verify distributed claim token: failed to verify signature',
    ],
    [
      'in a token without them',
      () => {
        provider.claims.set('/groups', { body: held(provider, { groups: undefined }) })
        return pointing(`${provider.url}/groups`)
      },
      'did not contain claim: groups',
    ],
    [
      'at a server whose certificate nobody here believes',
      () => {
        stranger.claims.set('/groups', { body: held(provider) })
        return pointing(`${stranger.url}/groups`)
      },
      'while getting distributed claim "groups": ',
    ],
    ['without https', () => pointing('http://127.0.0.1:1/groups'), 'must be reached by https'],
  ])('%s', async (_, token, expected) => {
    const groups = await groupsOf(token())
    if (expected === '') expect(groups).toBe('')
    else expect(groups).toContain(expected)
  })

  it('are of no interest where groups are not mapped', async () => {
    expect(await groupsOf(pointing(`${provider.url}/nowhere`), '')).toBe('')
  })
})
