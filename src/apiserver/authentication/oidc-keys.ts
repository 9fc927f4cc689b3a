import { createPublicKey, type JsonWebKey } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import { httpsGet } from './https-get.ts'
import { algorithmsOf, type TokenKey } from './jwt.ts'
import { InvalidToken } from './token.ts'

/** Keys are asked for again if a token names one that is not known, but not more often than this. */
const MIN_REFRESH_MS = 10_000

export interface KeyIssuer {
  readonly url: string
  /** Where its discovery document is, if not below its URL. */
  readonly discoveryURL?: string
  readonly certificateAuthority?: string
}

/** The keys a provider publishes, found by its discovery document and kept until a new one turns up. */
export class OidcKeys {
  readonly #issuer: KeyIssuer
  readonly #clock: Clock
  #keys: readonly TokenKey[] = []
  #refreshed = Number.NEGATIVE_INFINITY
  #refreshing: Promise<void> | undefined

  constructor(issuer: KeyIssuer, clock: Clock) {
    this.#issuer = issuer
    this.#clock = clock
  }

  async forId(id: string | undefined): Promise<readonly TokenKey[]> {
    if (!this.#has(id) && this.#clock.now() - this.#refreshed >= MIN_REFRESH_MS) {
      this.#refreshing ??= this.#refresh().finally(() => {
        this.#refreshing = undefined
      })
      await this.#refreshing
    }
    return this.#keys
  }

  #has(id: string | undefined): boolean {
    return id === undefined ? this.#keys.length > 0 : this.#keys.some((key) => key.id === id)
  }

  async #refresh(): Promise<void> {
    this.#refreshed = this.#clock.now()
    try {
      const { url, discoveryURL = `${url.replace(/\/$/, '')}/.well-known/openid-configuration` } = this.#issuer
      const document = (await this.#get(discoveryURL)) as Record<string, unknown>
      if (document.issuer !== url) throw new Error('the discovery document is of another issuer')
      if (typeof document.jwks_uri !== 'string') throw new Error('the discovery document names no keys')
      const { keys } = (await this.#get(document.jwks_uri)) as { keys?: unknown }
      this.#keys = Array.isArray(keys) ? keys.flatMap(keyOf) : []
    } catch (error) {
      throw new InvalidToken(`cannot get the keys of the provider: ${error instanceof Error ? error.message : error}`)
    }
  }

  async #get(url: string): Promise<unknown> {
    return JSON.parse(await httpsGet(url, { ca: this.#issuer.certificateAuthority }))
  }
}

/** A published key; those of other kinds or uses are passed over. */
function keyOf(jwk: unknown): TokenKey[] {
  const { kid = '', alg, use } = jwk as { kid?: string; alg?: string; use?: string }
  if (use !== undefined && use !== 'sig') return []
  try {
    const key = createPublicKey({ key: jwk as JsonWebKey, format: 'jwk' })
    return algorithmsOf(key, alg).map((algorithm) => ({ id: kid, algorithm, key }))
  } catch {
    return []
  }
}
