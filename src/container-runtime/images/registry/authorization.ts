/** Who we are to a registry: nobody, a user with a password, or the bearer of a token that its token server gave us. */
import type { Clock } from '../../../base/clock.ts'
import type { RegistryAuth } from '../../image-service.ts'
import { imageError } from '../image-error.ts'
import { type HttpResponse, readAll, request } from './http-request.ts'

export interface Challenge {
  readonly scheme: string
  readonly parameters: Readonly<Record<string, string>>
}

/** `Bearer realm="https://auth.example/token",service="registry"`; several may stand in one header. */
export function parseChallenges(header: string): Challenge[] {
  const challenges: { scheme: string; parameters: Record<string, string> }[] = []
  const pattern = /\s*,?\s*(?:([\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))|([\w-]+)(?=\s|$|,))/gy
  for (let match = pattern.exec(header); match && match[0] !== ''; match = pattern.exec(header)) {
    const [, name, quoted, plain, scheme] = match
    if (scheme) challenges.push({ scheme: scheme.toLowerCase(), parameters: {} })
    else if (name) {
      const current = challenges.at(-1)
      if (current) current.parameters[name.toLowerCase()] = quoted?.replace(/\\(.)/g, '$1') ?? plain ?? ''
    }
  }
  return challenges
}

export interface AuthorizerOptions {
  readonly auth: RegistryAuth | undefined
  /** The path of the repository: `library/busybox`. */
  readonly repository: string
  readonly verify: boolean
  readonly clock: Clock
  readonly stallTimeout: number
}

const TOKEN_LIMIT = 1024 * 1024

export class Authorizer {
  readonly #options: AuthorizerOptions
  #header: string | undefined
  #answering: Promise<boolean> | undefined

  constructor(options: AuthorizerOptions) {
    this.#options = options
    const { registryToken } = options.auth ?? {}
    if (registryToken) this.#header = `Bearer ${registryToken}`
  }

  get headers(): Record<string, string> {
    return this.#header === undefined ? {} : { authorization: this.#header }
  }

  /** After a 401: false if there is nothing (else) we could say. Requests at the same time share one answer. */
  async answer(response: HttpResponse, sent: Record<string, string>, signal: AbortSignal): Promise<boolean> {
    if (sent.authorization !== this.#header) return true
    const challenges = parseChallenges(response.headers['www-authenticate'] ?? '')
    this.#answering ??= this.#answer(challenges, signal).finally(() => {
      this.#answering = undefined
    })
    return this.#answering
  }

  async #answer(challenges: readonly Challenge[], signal: AbortSignal): Promise<boolean> {
    const bearer = challenges.find(({ scheme }) => scheme === 'bearer')
    if (bearer) {
      this.#header = `Bearer ${await this.#token(bearer, signal)}`
      return true
    }
    const basic = this.#basic()
    if (!challenges.some(({ scheme }) => scheme === 'basic') || !basic || basic === this.#header) return false
    this.#header = basic
    return true
  }

  #basic(): string | undefined {
    const { username, password } = this.#options.auth ?? {}
    if (!username && !password) return undefined
    return `Basic ${Buffer.from(`${username ?? ''}:${password ?? ''}`).toString('base64')}`
  }

  async #token({ parameters }: Challenge, signal: AbortSignal): Promise<string> {
    const { auth, repository, verify, clock, stallTimeout } = this.#options
    const { realm = '', service, scope = `repository:${repository}:pull` } = parameters
    const url = URL.canParse(realm) ? new URL(realm) : undefined
    if (!url || !/^https?:$/.test(url.protocol) || (verify && url.protocol !== 'https:'))
      throw imageError('FailedPrecondition', `the registry names the token server ${JSON.stringify(realm)}`)
    const common = { verify, signal, clock, stallTimeout }
    const fields = new URLSearchParams({ scope, ...(service !== undefined && { service }) })
    if (auth?.identityToken) {
      fields.set('grant_type', 'refresh_token')
      fields.set('refresh_token', auth.identityToken)
      fields.set('client_id', 'sampan')
      const headers = { 'content-type': 'application/x-www-form-urlencoded' }
      return tokenIn(await request({ ...common, url: url.href, method: 'POST', headers, body: fields.toString() }))
    }
    for (const [name, value] of fields) url.searchParams.set(name, value)
    const basic = this.#basic()
    return tokenIn(await request({ ...common, url: url.href, headers: basic ? { authorization: basic } : {} }))
  }
}

async function tokenIn(response: HttpResponse): Promise<string> {
  const body = await readAll(response, TOKEN_LIMIT, 'the answer of the token server')
  if (response.status !== 200)
    throw imageError(
      'FailedPrecondition',
      `failed to authorize: failed to fetch token: unexpected status: ${response.status}`,
    )
  try {
    const { token, access_token: accessToken } = JSON.parse(body.toString()) as Record<string, unknown>
    const found = token || accessToken
    if (typeof found === 'string') return found
  } catch {}
  throw imageError('Unavailable', 'failed to authorize: the token server gave no token')
}
