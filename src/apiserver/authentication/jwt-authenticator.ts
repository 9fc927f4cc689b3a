import { ANNOTATION } from '../../api/meta/well-known.ts'
import type { Clock } from '../../base/clock.ts'
import { CelError, type CelValue } from '../../cel/values.ts'
import { AUTHENTICATED, type UserInfo } from '../identity.ts'
import type { ClaimCompiler, ClaimExpression, Claims } from './claim-expressions.ts'
import type { JwtConfiguration, PrefixedClaimOrExpression, ValidationExpression } from './configuration.ts'
import { DistributedClaim } from './distributed-claims.ts'
import { IssuerTokens } from './issuer-tokens.ts'
import { type Algorithm, decodeJwt } from './jwt.ts'
import { forServer, InvalidToken, type TokenAuthenticator } from './token.ts'

export interface JwtContext {
  readonly clock: Clock
  readonly serverAudiences: readonly string[]
  /** Loaded if there are expressions, with what makes their values. */
  readonly cel?: typeof import('./claim-expressions.ts')
  readonly compiler?: ClaimCompiler | undefined
  /** Any that keys are for, when absent. */
  readonly algorithms?: readonly Algorithm[]
}

/** Believes the tokens of one issuer. The configuration has been checked. */
export function jwtTokens(configuration: JwtConfiguration, context: JwtContext): TokenAuthenticator {
  const { issuer, claimMappings } = configuration
  const { clock, serverAudiences, algorithms } = context
  const terms = { clock, audiences: issuer.audiences, algorithms }
  const tokens = new IssuerTokens(issuer, terms)
  const groups = claimMappings.groups?.claim
  const distributed = groups ? new DistributedClaim(groups, issuer, terms) : undefined
  const identify = identityReader(configuration, context)
  return {
    async authenticate(token, audiences) {
      const jwt = decodeJwt(token)
      if (!jwt || jwt.claims.iss !== issuer.url) return undefined
      const claims = await tokens.verify(jwt).catch((error) => {
        throw error instanceof InvalidToken ? new InvalidToken(`oidc: verify token: ${error.message}`) : error
      })
      const all = distributed ? await distributed.expand(claims) : claims
      return forServer(identify(all), serverAudiences, audiences)
    },
  }
}

/** Makes a user of claims, or says why not. */
function identityReader(
  { claimMappings, claimValidationRules = [], userValidationRules = [] }: JwtConfiguration,
  { cel, compiler }: JwtContext,
): (claims: Claims) => UserInfo {
  const over = (kind: 'claims' | 'user', text: string | undefined) =>
    text ? compiler!.compile(text, kind, 'any') : undefined
  const { username, groups, uid, extra = [] } = claimMappings
  const name = over('claims', username.expression)
  const groupList = over('claims', groups?.expression)
  const uidText = over('claims', uid?.expression)
  const extras = extra.map(({ key, valueExpression }) => ({ key, value: over('claims', valueExpression)! }))
  const wanted = claimValidationRules.filter(({ claim }) => claim)
  const claimRules = rulesOf(claimValidationRules, (text) => over('claims', text)!)
  const userRules = rulesOf(userValidationRules, (text) => over('user', text)!)
  return (claims) => {
    const value: CelValue = cel ? cel.claimsValue(claims) : null
    const run = (what: string, expression: ClaimExpression) => evaluate(expression, value, what)
    const id = uidText ? textOf(run('uid claim', uidText), 'uid') : uid?.claim && claimText(claims, uid.claim, 'uid')
    const more = extrasOf(
      claims,
      extras.map(({ key, value: from }) => [key, texts(run('extra claim', from), 'extra')]),
    )
    const user: UserInfo = {
      name: name ? textOf(run('username claim', name), 'username') : claimedName(claims, username),
      ...(id && { uid: id }),
      groups: [
        ...(groupList ? texts(run('group claim', groupList), 'group') : claimedGroups(claims, groups)),
        AUTHENTICATED,
      ],
      ...(more && { extra: more }),
    }
    if (user.name === '') throw new InvalidToken('oidc: empty username via CEL expression is not allowed')
    for (const { claim, requiredValue = '' } of wanted) checkRequired(claims, claim!, requiredValue)
    for (const rule of claimRules) checkRule(rule, value, 'claim validation expression')
    // What rules see of a user is what the token gave.
    const shown = { ...user, groups: user.groups.slice(0, -1) }
    for (const rule of userRules) checkRule(rule, cel!.userValue(shown), 'user info validation rule')
    return user
  }
}

interface Rule {
  readonly run: ClaimExpression
  readonly message: string
}

const rulesOf = (rules: readonly ValidationExpression[], compile: (text: string) => ClaimExpression): Rule[] =>
  rules.flatMap(({ expression, message = '' }) => (expression ? [{ run: compile(expression), message }] : []))

function checkRule({ run, message }: Rule, value: CelValue, what: string): void {
  if (evaluate(run, value, what) !== true)
    throw new InvalidToken(`oidc: error evaluating ${what}: validation expression '${run.text}' failed: ${message}`)
}

function evaluate(expression: ClaimExpression, value: CelValue, what: string): CelValue {
  try {
    return expression.evaluate(value)
  } catch (error) {
    if (!(error instanceof CelError)) throw error
    throw new InvalidToken(
      `oidc: error evaluating ${what}: expression '${expression.text}' resulted in error: ${error.message}`,
    )
  }
}

function textOf(value: CelValue, what: string): string {
  if (typeof value === 'string') return value
  throw new InvalidToken(
    `oidc: error evaluating ${what} claim expression: ${what} claim expression must return a string`,
  )
}

/** Nothing, a text or a list of texts; empty ones count for nothing. */
function texts(value: CelValue, what: string): string[] {
  const list = value === null ? [] : Array.isArray(value) ? value : [value]
  if (list.every((one) => typeof one === 'string')) return list.filter((one) => one !== '')
  throw new InvalidToken(
    `oidc: error evaluating ${what} claim expression: expression must return a string or a list of strings`,
  )
}

function claimText(claims: Claims, claim: string, what: string): string {
  const value = claims[claim]
  if (typeof value === 'string') return value
  throw new InvalidToken(
    `oidc: parse ${what} claim ${JSON.stringify(claim)}: ${value === undefined ? 'claim not present' : 'not a string'}`,
  )
}

function claimedName(claims: Claims, { claim = '', prefix = '' }: PrefixedClaimOrExpression): string {
  const name = claimText(claims, claim, 'username')
  if (name === '') throw new InvalidToken(`oidc: claim ${claim} is empty`)
  if (claim === 'email' && claims.email_verified !== undefined && claims.email_verified !== true)
    throw new InvalidToken('oidc: email not verified')
  return prefix + name
}

function claimedGroups(claims: Claims, { claim, prefix = '' }: PrefixedClaimOrExpression = {}): string[] {
  const value = claim ? claims[claim] : undefined
  if (value === undefined || value === null) return []
  const groups = typeof value === 'string' ? [value] : value
  if (!Array.isArray(groups) || !groups.every((one) => typeof one === 'string'))
    throw new InvalidToken(`oidc: parse groups claim ${JSON.stringify(claim)}: not a list of strings`)
  return groups.map((group) => prefix + group)
}

function extrasOf({ jti }: Claims, mapped: readonly (readonly [string, string[]])[]): UserInfo['extra'] {
  const extra: [string, string[]][] = mapped
    .filter(([, values]) => values.length > 0)
    .map(([key, values]) => [key, values])
  if (typeof jti === 'string') extra.unshift([ANNOTATION.credentialId, [`JTI=${jti}`]])
  return extra.length > 0 ? Object.fromEntries(extra) : undefined
}

function checkRequired(claims: Claims, claim: string, value: string): void {
  if (claims[claim] === undefined) throw new InvalidToken(`oidc: required claim ${claim} not present in ID token`)
  if (claims[claim] !== value)
    throw new InvalidToken(
      `oidc: required claim ${claim} value does not match. Got = ${String(claims[claim])}, want = ${value}`,
    )
}
