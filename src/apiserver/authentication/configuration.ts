/** `kind: AuthenticationConfiguration` of apiserver.config.k8s.io: whose tokens are believed, and what they say. */
export interface AuthenticationConfiguration {
  readonly kind?: string
  readonly apiVersion?: string
  readonly jwt?: readonly JwtConfiguration[]
  readonly anonymous?: AnonymousConfiguration
}

export interface AnonymousConfiguration {
  readonly enabled?: boolean
  /** Where those who show nothing may go; everywhere when empty. */
  readonly conditions?: readonly { readonly path: string }[]
}

/** One issuer of tokens. Exactly one of claim and expression is given wherever both are possible. */
export interface JwtConfiguration {
  readonly issuer: {
    readonly url: string
    readonly discoveryURL?: string
    /** PEM. */
    readonly certificateAuthority?: string
    readonly audiences: readonly string[]
    readonly audienceMatchPolicy?: string
    readonly egressSelectorType?: string
  }
  readonly claimValidationRules?: readonly ClaimValidationRule[]
  readonly claimMappings: {
    readonly username: PrefixedClaimOrExpression
    readonly groups?: PrefixedClaimOrExpression
    readonly uid?: ClaimOrExpression
    readonly extra?: readonly { readonly key: string; readonly valueExpression: string }[]
  }
  readonly userValidationRules?: readonly ValidationExpression[]
}

export interface ValidationExpression {
  readonly expression?: string
  readonly message?: string
}

export interface ClaimValidationRule extends ValidationExpression {
  readonly claim?: string
  readonly requiredValue?: string
}

export interface ClaimOrExpression {
  readonly claim?: string
  readonly expression?: string
}

export interface PrefixedClaimOrExpression extends ClaimOrExpression {
  readonly prefix?: string
}

/** Whether any part of it is written in CEL. */
export function hasExpressions({
  claimMappings,
  claimValidationRules = [],
  userValidationRules = [],
}: JwtConfiguration) {
  const { username, groups, uid, extra = [] } = claimMappings ?? {}
  const written = [username, groups, uid, ...claimValidationRules, ...userValidationRules]
  return extra.length > 0 || written.some((one) => Boolean(one?.expression))
}
