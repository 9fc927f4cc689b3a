import type { Secret } from '../../generated/core-v1.ts'
import { parseTime } from '../../meta/time.ts'
import { NAMESPACE, SECRET_TYPE } from '../../meta/well-known.ts'

/** What a machine joins a cluster with: `id.secret`. The id may be seen by anybody. */
export interface BootstrapToken {
  readonly id: string
  readonly secret: string
}

/** A token as the Secret in kube-system describes it. */
export interface BootstrapTokenFacts extends BootstrapToken {
  readonly description: string
  /** Milliseconds; undefined if it does not end. */
  readonly expiration?: number
  /** `signing`, `authentication`. */
  readonly usages: readonly string[]
  /** Besides `system:bootstrappers`. */
  readonly groups: readonly string[]
}

export const BOOTSTRAP_TOKEN_TYPE = SECRET_TYPE.bootstrapToken
export const BOOTSTRAP_TOKEN_NAMESPACE = NAMESPACE.system
export const BOOTSTRAP_TOKEN_USAGES = ['signing', 'authentication'] as const

const TOKEN = /^([a-z0-9]{6})\.([a-z0-9]{16})$/
const USAGE_PREFIX = 'usage-bootstrap-'

export const bootstrapTokenName = (id: string) => `bootstrap-token-${id}`

export const isBootstrapTokenId = (text: string) => /^[a-z0-9]{6}$/.test(text)

/** Undefined if the text is no token. */
export function parseBootstrapToken(text: string): BootstrapToken | undefined {
  const match = TOKEN.exec(text)
  return match ? { id: match[1]!, secret: match[2]! } : undefined
}

/** Undefined if the Secret is no token that could be used. One whose end nobody can read has ended. */
export function readBootstrapToken(object: Secret): BootstrapTokenFacts | undefined {
  const read = (key: string) => Buffer.from(object.data?.[key] ?? '', 'base64').toString()
  const token = parseBootstrapToken(`${read('token-id')}.${read('token-secret')}`)
  if (!token || object.type !== BOOTSTRAP_TOKEN_TYPE || object.metadata.name !== bootstrapTokenName(token.id))
    return undefined
  const expiration = read('expiration')
  return {
    ...token,
    description: read('description'),
    ...(expiration !== '' && { expiration: parseTime(expiration) ?? 0 }),
    usages: BOOTSTRAP_TOKEN_USAGES.filter((usage) => read(USAGE_PREFIX + usage) === 'true'),
    groups: read('auth-extra-groups')
      .split(',')
      .filter((group) => group !== ''),
  }
}

/** The Secret that makes a token known to the cluster. `expiration` is in the words of the API. */
export function bootstrapTokenSecret(
  facts: Omit<BootstrapTokenFacts, 'expiration'> & { readonly expiration?: string },
): Secret {
  const data: Record<string, string> = {
    'token-id': facts.id,
    'token-secret': facts.secret,
    ...(facts.description !== '' && { description: facts.description }),
    ...(facts.expiration !== undefined && { expiration: facts.expiration }),
    ...Object.fromEntries(facts.usages.map((usage) => [USAGE_PREFIX + usage, 'true'])),
    ...(facts.groups.length > 0 && { 'auth-extra-groups': facts.groups.join(',') }),
  }
  return {
    metadata: { name: bootstrapTokenName(facts.id), namespace: BOOTSTRAP_TOKEN_NAMESPACE },
    type: BOOTSTRAP_TOKEN_TYPE,
    data: Object.fromEntries(Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString('base64')])),
  }
}
