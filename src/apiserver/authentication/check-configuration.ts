import { createPublicKey, X509Certificate } from 'node:crypto'
import { duplicate, type FieldError, invalid, required, tooMany } from '../../api/meta/field-error.ts'
import { FieldPath } from '../../api/meta/field-path.ts'
import type { ClaimCompiler } from './claim-expressions.ts'
import type { AuthenticationConfiguration, JwtConfiguration, PrefixedClaimOrExpression } from './configuration.ts'
import { unknownFields } from './configuration-fields.ts'

const VERSIONS = ['v1', 'v1beta1', 'v1alpha1'].map((version) => `apiserver.config.k8s.io/${version}`)
const MAX_ISSUERS = 64
const BOTH = "claim and expression can't both be set"
const NEITHER = 'claim or expression is required'

/** Throws everything that is wrong with a configuration. The compiler is there if it has expressions. */
export function checkAuthenticationConfiguration(
  configuration: AuthenticationConfiguration,
  compiler: ClaimCompiler | undefined,
  ownIssuers: readonly string[],
): void {
  const { kind, apiVersion = '', jwt = [], anonymous } = configuration ?? {}
  if (kind !== 'AuthenticationConfiguration' || !VERSIONS.includes(apiVersion))
    throw new Error(`this is no AuthenticationConfiguration of ${VERSIONS[0]}, but ${kind} of ${apiVersion}`)
  const errors = unknownFields(configuration)
  const root = FieldPath.root('jwt')
  if (jwt.length > MAX_ISSUERS) errors.push(tooMany(root, jwt.length, MAX_ISSUERS))
  if (errors.length === 0)
    errors.push(...jwt.flatMap((one, i) => checkIssuer(one, root.index(i), compiler, ownIssuers)))
  errors.push(...repeated(jwt.map(({ issuer }, i) => [issuer?.url, root.index(i).child('issuer', 'url')])))
  errors.push(
    ...repeated(jwt.map(({ issuer }, i) => [issuer?.discoveryURL, root.index(i).child('issuer', 'discoveryURL')])),
  )
  if (anonymous?.enabled !== true && anonymous?.conditions?.length) {
    const detail = 'enabled should be set to true when conditions are defined'
    errors.push(invalid(FieldPath.root('anonymous').child('conditions'), anonymous.conditions, detail))
  }
  if (errors.length > 0) throw new Error(errors.map(({ field, message }) => `${field}: ${message}`).join(', '))
}

function checkIssuer(
  jwt: JwtConfiguration,
  path: FieldPath,
  compiler: ClaimCompiler | undefined,
  ownIssuers: readonly string[],
): FieldError[] {
  const { issuer = {} as JwtConfiguration['issuer'] } = jwt
  const at = path.child('issuer')
  const errors = issuer.url ? checkUrl(issuer.url, at.child('url'), ownIssuers) : [required(at.child('url'))]
  const { discoveryURL, certificateAuthority, egressSelectorType } = issuer
  if (discoveryURL) {
    if (issuer.url?.replace(/\/+$/, '') === discoveryURL.replace(/\/+$/, ''))
      errors.push(invalid(at.child('discoveryURL'), discoveryURL, 'discoveryURL must be different from URL'))
    errors.push(...checkUrl(discoveryURL, at.child('discoveryURL'), []))
  }
  errors.push(...checkAudiences(issuer, at))
  if (certificateAuthority && !hasCertificates(certificateAuthority))
    errors.push(
      invalid(
        at.child('certificateAuthority'),
        '<omitted>',
        'data does not contain any valid RSA or ECDSA certificates',
      ),
    )
  if (egressSelectorType && !['controlplane', 'cluster'].includes(egressSelectorType))
    errors.push(
      invalid(
        at.child('egressSelectorType'),
        egressSelectorType,
        'egress selector must be either controlplane or cluster',
      ),
    )
  return [...errors, ...new ExpressionCheck(compiler).check(jwt, path)]
}

function checkUrl(text: string, path: FieldPath, ownIssuers: readonly string[]): FieldError[] {
  const errors: FieldError[] = []
  if (ownIssuers.includes(text))
    errors.push(invalid(path, text, `URL must not overlap with disallowed issuers: [${ownIssuers.join(' ')}]`))
  if (!URL.canParse(text)) return [...errors, invalid(path, text, `parse ${JSON.stringify(text)}: invalid URI`)]
  const url = new URL(text)
  if (url.protocol !== 'https:') errors.push(invalid(path, text, 'URL scheme must be https'))
  if (url.username || url.password) errors.push(invalid(path, text, 'URL must not contain a username or password'))
  if (url.search) errors.push(invalid(path, text, 'URL must not contain a query'))
  if (url.hash) errors.push(invalid(path, text, 'URL must not contain a fragment'))
  return errors
}

function checkAudiences(
  { audiences = [], audienceMatchPolicy = '' }: JwtConfiguration['issuer'],
  at: FieldPath,
): FieldError[] {
  const path = at.child('audiences')
  if (audiences.length === 0) return [required(path, `at least one ${path} is required`)]
  const errors = audiences.flatMap((audience, i) => (audience ? [] : [required(path.index(i))]))
  errors.push(...repeated(audiences.map((audience, i) => [audience, path.index(i)])))
  if (audienceMatchPolicy === 'MatchAny') return errors
  const policy = at.child('audienceMatchPolicy')
  if (audiences.length > 1)
    errors.push(invalid(policy, audienceMatchPolicy, 'audienceMatchPolicy must be MatchAny for multiple audiences'))
  else if (audienceMatchPolicy)
    errors.push(
      invalid(policy, audienceMatchPolicy, 'audienceMatchPolicy must be empty or MatchAny for single audience'),
    )
  return errors
}

function hasCertificates(pem: string): boolean {
  try {
    return createPublicKey(new X509Certificate(pem).publicKey.export({ type: 'spki', format: 'pem' })) !== undefined
  } catch {
    return false
  }
}

function repeated(values: readonly (readonly [string | undefined, FieldPath])[]): FieldError[] {
  const seen = new Set<string>()
  return values.flatMap(([value, path]) => {
    if (!value) return []
    const isRepeated = seen.has(value)
    seen.add(value)
    return isRepeated ? [duplicate(path, value)] : []
  })
}

const EMAIL =
  'claims.email_verified must be used in claimMappings.username.expression or claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when claims.email is used in claimMappings.username.expression'
const DOMAIN_PREFIXED = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/.+$/
const RESERVED = /^([^/]*\.)?(k8s|kubernetes)\.io\//

/** The mappings and rules of one issuer. */
class ExpressionCheck {
  readonly #compiler: ClaimCompiler | undefined
  #verifiesEmail = false

  constructor(compiler: ClaimCompiler | undefined) {
    this.#compiler = compiler
  }

  check(jwt: JwtConfiguration, path: FieldPath): FieldError[] {
    const { claimValidationRules: rules = [], userValidationRules = [] } = jwt
    const at = path.child('claimValidationRules')
    const userAt = path.child('userValidationRules')
    return [
      ...rules.flatMap((rule, i) => this.#claimRule(rule, at.index(i))),
      ...repeated(rules.map(({ claim }, i) => [claim, at.index(i).child('claim')])),
      ...repeated(rules.map(({ expression }, i) => [expression, at.index(i).child('expression')])),
      ...this.#mappings(jwt.claimMappings ?? {}, path.child('claimMappings')),
      ...userValidationRules.flatMap(({ expression }, i) =>
        expression
          ? this.#expression(expression, userAt.index(i).child('expression'), 'user', 'bool')
          : [required(userAt.index(i).child('expression'))],
      ),
      ...repeated(userValidationRules.map(({ expression }, i) => [expression, userAt.index(i).child('expression')])),
    ]
  }

  #claimRule(rule: NonNullable<JwtConfiguration['claimValidationRules']>[number], path: FieldPath): FieldError[] {
    const { claim, expression, requiredValue, message } = rule
    if (claim && expression) return [invalid(path, claim, BOTH)]
    if (claim) return message ? [invalid(path.child('message'), message, 'may not be specified when claim is set')] : []
    if (!expression) return [required(path, NEITHER)]
    const errors = requiredValue
      ? [invalid(path.child('requiredValue'), requiredValue, 'may not be specified when expression is set')]
      : []
    return [...errors, ...this.#expression(expression, path.child('expression'), 'claims', 'bool', true)]
  }

  #mappings({ username, groups, uid, extra = [] }: JwtConfiguration['claimMappings'], path: FieldPath): FieldError[] {
    const errors = this.#prefixed(username ?? {}, path.child('username'), true)
    if (groups) errors.push(...this.#prefixed(groups, path.child('groups'), false))
    if (uid?.claim && uid.expression) errors.push(invalid(path.child('uid'), '', BOTH))
    else if (uid?.expression) errors.push(...this.#expression(uid.expression, path.child('uid', 'expression')))
    const at = path.child('extra')
    extra.forEach(({ key, valueExpression }, i) => {
      errors.push(...checkExtraKey(key, at.index(i).child('key')))
      const value = at.index(i).child('valueExpression')
      errors.push(
        ...(valueExpression ? this.#expression(valueExpression, value, 'claims', 'any', true) : [required(value)]),
      )
    })
    errors.push(...repeated(extra.map(({ key }, i) => [key, at.index(i).child('key')])))
    const text = username?.expression
    if (text && errors.length === 0 && this.#compiler?.reads(text, 'email') && !this.#verifiesEmail)
      errors.push(invalid(path.child('username', 'expression'), text, EMAIL))
    return errors
  }

  #prefixed(
    { claim, prefix, expression }: PrefixedClaimOrExpression,
    path: FieldPath,
    isNeeded: boolean,
  ): FieldError[] {
    if (claim && expression) return [invalid(path, '', BOTH)]
    if (expression) {
      const errors =
        prefix === undefined
          ? []
          : [invalid(path.child('prefix'), prefix, 'may not be specified when expression is set')]
      return [...errors, ...this.#expression(expression, path.child('expression'), 'claims', 'any', isNeeded)]
    }
    if (!claim) return isNeeded ? [required(path, NEITHER)] : []
    const detail = 'prefix is required when claim is set. It can be set to an empty string to disable prefixing'
    return prefix === undefined ? [required(path.child('prefix'), detail)] : []
  }

  #expression(
    text: string,
    path: FieldPath,
    over: 'claims' | 'user' = 'claims',
    result: 'any' | 'bool' = 'any',
    mayVerifyEmail = false,
  ): FieldError[] {
    try {
      this.#compiler!.compile(text, over, result)
      if (mayVerifyEmail && this.#compiler!.reads(text, 'email_verified')) this.#verifiesEmail = true
      return []
    } catch (error) {
      return [invalid(path, text, error instanceof Error ? error.message : String(error))]
    }
  }
}

function checkExtraKey(key: string | undefined, path: FieldPath): FieldError[] {
  if (!key) return [required(path)]
  const errors: FieldError[] = []
  if (!DOMAIN_PREFIXED.test(key.toLowerCase()))
    errors.push(invalid(path, key, 'must be a domain-prefixed path (such as "acme.io/foo")'))
  if (key !== key.toLowerCase()) errors.push(invalid(path, key, 'must be lowercase'))
  if (RESERVED.test(key))
    errors.push(invalid(path, key, 'k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use'))
  return errors
}
