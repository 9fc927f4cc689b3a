import { generateKeyPairSync } from 'node:crypto'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { type Algorithm, keyPairOf, signJwt } from './jwt.ts'

export function newKey(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
}

interface ServerCertificates {
  readonly server: { readonly cert: string; readonly key: string }
}

interface ProviderOptions {
  /** PEM; a new one of P-256 when absent. */
  readonly key?: string
  /** What it calls itself, if not by where it is. */
  readonly issuer?: string
}

/** A provider of OpenID Connect, and a webhook that knows one token. */
export class Provider implements AsyncDisposable {
  readonly #server: Server
  readonly #keys: ReturnType<typeof keyPairOf>
  readonly #issuer: string | undefined
  /** What its endpoints of claims answer, by path, and the token they want. */
  readonly claims = new Map<string, { readonly body: string; readonly token?: string; readonly status?: number }>()

  private constructor(certificates: ServerCertificates, { key = newKey(), issuer }: ProviderOptions) {
    this.#keys = keyPairOf(key)
    this.#issuer = issuer
    this.#server = createServer(certificates.server, (incoming, response) => {
      const held = this.claims.get(incoming.url ?? '')
      if (held) {
        const isAllowed = !held.token || incoming.headers.authorization === `Bearer ${held.token}`
        return response.writeHead(isAllowed ? (held.status ?? 200) : 401).end(held.body)
      }
      const parts: Buffer[] = []
      incoming.on('data', (part: Buffer) => parts.push(part))
      incoming.on('end', () => response.end(JSON.stringify(this.#answer(incoming.url ?? '', Buffer.concat(parts)))))
    })
  }

  static async start(certificates: ServerCertificates, options: ProviderOptions = {}): Promise<Provider> {
    const provider = new Provider(certificates, options)
    await new Promise<void>((resolve) => provider.#server.listen(0, '127.0.0.1', resolve))
    return provider
  }

  get url(): string {
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  get issuer(): string {
    return this.#issuer ?? this.url
  }

  sign(claims: object, algorithm: Algorithm = this.#keys.signing.algorithm): string {
    return signJwt(claims, { ...this.#keys.signing, algorithm })
  }

  #answer(url: string, body: Buffer): object {
    if (url.endsWith('/openid-configuration')) return { issuer: this.issuer, jwks_uri: `${this.url}/keys` }
    if (url === '/keys') {
      const { id, key } = this.#keys.checking
      return { keys: [{ ...key.export({ format: 'jwk' }), kid: id }] }
    }
    const { spec } = JSON.parse(body.toString()) as { spec: { token: string } }
    const user = { username: 'hook', groups: ['remote'] }
    return { status: spec.token === 'known-to-webhook' ? { authenticated: true, user } : { authenticated: false } }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}
