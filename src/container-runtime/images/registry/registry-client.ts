/** Manifests and blobs of one repository, by the OCI distribution protocol. */
import { createHash } from 'node:crypto'
import type { Clock } from '../../../base/clock.ts'
import type { RegistryAuth } from '../../image-service.ts'
import type { RuntimeError } from '../../runtime.ts'
import { MANIFEST_TYPES } from '../documents.ts'
import { badImage, imageError } from '../image-error.ts'
import { parseDigest, type Reference } from '../reference.ts'
import { Authorizer } from './authorization.ts'
import type { Endpoint } from './endpoints.ts'
import { type HttpResponse, readAll, request, TransportError } from './http-request.ts'

export interface RegistryClientOptions {
  readonly reference: Reference
  readonly endpoint: Endpoint
  readonly auth: RegistryAuth | undefined
  readonly clock: Clock
  readonly stallTimeout: number
  readonly documentLimit: number
}

export interface FetchedDocument {
  readonly bytes: Buffer
  readonly digest: string
}

const ERROR_LIMIT = 64 * 1024

/** Not now: another attempt, after this many milliseconds at least, may do. */
export class TryAgain extends Error {
  override readonly name = 'TryAgain'
  readonly wait: number

  constructor(message: string, wait: number) {
    super(message)
    this.wait = wait
  }
}

export const isTransient = (error: unknown) => error instanceof TransportError || error instanceof TryAgain

export class RegistryClient {
  readonly #options: RegistryClientOptions
  readonly #authorizer: Authorizer

  constructor(options: RegistryClientOptions) {
    this.#options = options
    const { reference, endpoint, auth, clock, stallTimeout } = options
    this.#authorizer = new Authorizer({
      auth: endpoint.isMirror ? undefined : auth,
      repository: reference.path,
      verify: endpoint.verify,
      clock,
      stallTimeout,
    })
  }

  async manifest(reference: string, signal: AbortSignal): Promise<FetchedDocument> {
    const response = await this.#get(`manifests/${reference}`, { accept: MANIFEST_TYPES.join(', ') }, signal)
    const bytes = await readAll(response, this.#options.documentLimit, 'the manifest')
    const wanted = parseDigest(reference)
    const digest = digestOf(bytes, wanted?.algorithm)
    if (wanted && digest !== reference) throw badImage(`the manifest ${reference} has the digest ${digest}`)
    return { bytes, digest }
  }

  /** A small blob as a whole. */
  async document(digest: string, signal: AbortSignal): Promise<Buffer> {
    const bytes = await readAll(await this.blob(digest, 0, signal), this.#options.documentLimit, 'the configuration')
    const actual = digestOf(bytes, parseDigest(digest)?.algorithm)
    if (actual !== digest) throw badImage(`the configuration ${digest} has the digest ${actual}`)
    return bytes
  }

  /** A blob from this byte on, if the registry can do that: it says so with status 206. */
  blob(digest: string, from: number, signal: AbortSignal): Promise<HttpResponse> {
    return this.#get(`blobs/${digest}`, from > 0 ? { range: `bytes=${from}-` } : {}, signal)
  }

  async #get(path: string, headers: Record<string, string>, signal: AbortSignal): Promise<HttpResponse> {
    const { reference, endpoint, clock, stallTimeout } = this.#options
    const url = `${endpoint.base}/v2/${reference.path}/${path}`
    for (let attempt = 0; ; attempt++) {
      const credentials = this.#authorizer.headers
      const all = { ...headers, ...credentials }
      const response = await request({ url, headers: all, verify: endpoint.verify, signal, clock, stallTimeout })
      if (response.status === 200 || response.status === 206) return response
      if (response.status === 401 && attempt < 2) {
        response.discard()
        if (await this.#authorizer.answer(response, credentials, signal)) continue
      }
      throw await this.#failure(response, url)
    }
  }

  async #failure(response: HttpResponse, url: string): Promise<RuntimeError | TryAgain> {
    const { status } = response
    const { name } = this.#options.reference
    const said = status === 401 ? '' : await messageIn(response)
    response.discard()
    if (status === 429 || status >= 500)
      return new TryAgain(`unexpected status from GET request to ${url}: ${status}${said}`, retryAfter(response))
    if (status === 404) return imageError('NotFound', `${name}: not found`)
    if (status === 401 || status === 403)
      return imageError(
        'FailedPrecondition',
        `pull access denied, repository does not exist or may require authorization: server message: ${said.slice(2) || 'insufficient_scope: authorization failed'}`,
      )
    return imageError('Unavailable', `unexpected status from GET request to ${url}: ${status}${said}`)
  }
}

const digestOf = (bytes: Buffer, algorithm = 'sha256') =>
  `${algorithm}:${createHash(algorithm).update(bytes).digest('hex')}`

/** What the registry says itself: `: denied: requested access to the resource is denied`. */
async function messageIn(response: HttpResponse): Promise<string> {
  try {
    const { errors } = JSON.parse((await readAll(response, ERROR_LIMIT, 'the answer')).toString()) as {
      errors?: readonly { code?: string; message?: string }[]
    }
    const first = errors?.[0]
    return first ? `: ${String(first.code ?? 'error').toLowerCase()}: ${first.message ?? ''}` : ''
  } catch {
    return ''
  }
}

const LONGEST_WAIT = 30_000

function retryAfter({ headers }: HttpResponse): number {
  const seconds = Number(headers['retry-after'])
  return Number.isFinite(seconds) && seconds > 0 ? Math.min(seconds * 1000, LONGEST_WAIT) : 0
}
