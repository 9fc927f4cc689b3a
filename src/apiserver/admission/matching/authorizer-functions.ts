import type { Functions } from '../../../cel/library.ts'
import { CelError, type OpaqueValue } from '../../../cel/values.ts'
import type { AccessAttributes, AccessDecision, Authorizer } from '../../authorization/authorizer.ts'
import { serviceAccountIdentity, type UserInfo } from '../../identity.ts'

const PACKAGE = 'kubernetes.authorization'
export const AUTHORIZER_TYPE = `${PACKAGE}.Authorizer`

/** An authorizer has to be waited for. The evaluation ends here, and begins again when the answer is known. */
export class DecisionPending extends Error {
  readonly decision: Promise<unknown>

  constructor(decision: Promise<unknown>) {
    super('a decision is waited for')
    this.decision = decision
  }
}

/** The decisions that expressions asked for during one request. */
class Decisions {
  readonly #authorizer: Authorizer
  readonly #known = new Map<string, AccessDecision>()

  constructor(authorizer: Authorizer) {
    this.#authorizer = authorizer
  }

  decide(user: UserInfo, attributes: AccessAttributes, key: string): AccessDecision {
    const known = this.#known.get(key)
    if (known) return known
    const decision = this.#authorizer.decide(user, attributes)
    if (decision instanceof Promise)
      throw new DecisionPending(
        decision.then(
          (late) => this.#known.set(key, late),
          (error) => this.#known.set(key, { allowed: false, reason: String(error) }),
        ),
      )
    this.#known.set(key, decision)
    return decision
  }
}

interface Check {
  readonly path?: string
  readonly group?: string
  readonly resource?: string
  readonly subresource?: string
  readonly namespace?: string
  readonly name?: string
  readonly fieldSelector?: string
  readonly labelSelector?: string
}

/** Asks on behalf of a user; each step of `authorizer.group('').resource('pods')` is one of these. */
class Question implements OpaqueValue {
  readonly celKind: string
  readonly key: string
  readonly user: UserInfo
  readonly decisions: Decisions
  readonly check: Check
  readonly requestResource: Check | undefined

  constructor(celKind: string, parts: Pick<Question, 'user' | 'decisions' | 'check' | 'requestResource'>) {
    this.celKind = `${PACKAGE}.${celKind}`
    this.user = parts.user
    this.decisions = parts.decisions
    this.check = parts.check
    this.requestResource = parts.requestResource
    this.key = JSON.stringify([this.celKind, this.user.name, this.user.groups, this.check])
  }

  with(celKind: string, check: Check): Question {
    return new Question(celKind, { ...this, check: { ...this.check, ...check } })
  }

  /** `authorizer.requestResource`: what the request is about. */
  field(name: string): Question | undefined {
    return name === 'requestResource' && this.requestResource
      ? this.with('ResourceCheck', this.requestResource)
      : undefined
  }

  as(user: UserInfo): Question {
    return new Question('Authorizer', { ...this, user })
  }

  decide(verb: string): Decision {
    const { path, group = '', resource = '', subresource = '', namespace = '', name = '' } = this.check
    const selectors = {
      get: (which: 'fieldSelector' | 'labelSelector') => this.check[which] ?? '',
    }
    const attributes: AccessAttributes =
      path === undefined
        ? { verb, resource: { group, version: '*', resource, subresource, namespace, name }, selectors }
        : { verb, path }
    return new Decision(this.decisions.decide(this.user, attributes, `${verb} ${this.key}`))
  }
}

class Decision implements OpaqueValue {
  readonly celKind = `${PACKAGE}.Decision`
  readonly key: string
  readonly decision: AccessDecision

  constructor(decision: AccessDecision) {
    this.decision = decision
    this.key = JSON.stringify(decision)
  }
}

/** The variable `authorizer`, for the user of a request. */
export const authorizerValue = (authorizer: Authorizer, user: UserInfo, requestResource: Check): OpaqueValue =>
  new Question('Authorizer', { user, decisions: new Decisions(authorizer), check: {}, requestResource })

const A = AUTHORIZER_TYPE
const P = `${PACKAGE}.PathCheck`
const G = `${PACKAGE}.GroupCheck`
const R = `${PACKAGE}.ResourceCheck`
const D = `${PACKAGE}.Decision`

export const authorizerFunctions: Functions = {
  [`${A}.path(string): ${P}`]: (from: Question, path: string) => {
    if (path === '') throw new CelError('path must not be empty')
    return from.with('PathCheck', { path })
  },
  [`${A}.group(string): ${G}`]: (from: Question, group: string) => from.with('GroupCheck', { group }),
  [`${A}.serviceAccount(string, string): ${A}`]: (from: Question, namespace: string, name: string) =>
    from.as(serviceAccountIdentity(namespace, name)),
  [`${G}.resource(string): ${R}`]: (from: Question, resource: string) => from.with('ResourceCheck', { resource }),
  [`${R}.subresource(string): ${R}`]: (from: Question, subresource: string) =>
    from.with('ResourceCheck', { subresource }),
  [`${R}.namespace(string): ${R}`]: (from: Question, namespace: string) => from.with('ResourceCheck', { namespace }),
  [`${R}.name(string): ${R}`]: (from: Question, name: string) => from.with('ResourceCheck', { name }),
  [`${R}.fieldSelector(string): ${R}`]: (from: Question, fieldSelector: string) =>
    from.with('ResourceCheck', { fieldSelector }),
  [`${R}.labelSelector(string): ${R}`]: (from: Question, labelSelector: string) =>
    from.with('ResourceCheck', { labelSelector }),
  [`${R}.check(string): ${D}`]: (from: Question, verb: string) => from.decide(verb),
  [`${P}.check(string): ${D}`]: (from: Question, verb: string) => from.decide(verb),
  [`${D}.allowed(): bool`]: ({ decision }: Decision) => decision.allowed,
  [`${D}.reason(): string`]: ({ decision }: Decision) => decision.reason,
  [`${D}.errored(): bool`]: () => false,
  [`${D}.error(): string`]: () => '',
}
