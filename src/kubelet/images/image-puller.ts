import type { Container, Pod, Secret } from '../../api/generated/core-v1.ts'
import type { Clock } from '../../base/clock.ts'
import type { EventType } from '../../client/events.ts'
import type { Image, ImageService, RegistryAuth } from '../../container-runtime/image-service.ts'
import { KeyedBackoff } from '../pod/backoff.ts'
import { credentialsFor } from './pull-secrets.ts'
import { type ImageReference, parseImageReference } from './reference.ts'

/** Why a container has no image, in the words of its status. */
export class ImageError extends Error {
  override readonly name = 'ImageError'
  readonly reason: string
  /** When it is worth looking again. */
  readonly retryAt: number | undefined

  constructor(reason: string, message: string, retryAt?: number) {
    super(message)
    this.reason = reason
    this.retryAt = retryAt
  }
}

export interface ImagePullerOptions {
  readonly images: ImageService
  readonly clock: Clock
  /** Tells what happens, about one container. */
  readonly record: (pod: Pod, container: Container, type: EventType, reason: string, message: string) => void
}

const FIRST_WAIT = 10_000
const LONGEST_WAIT = 300_000

/** Brings a container's image to the node, as its pull policy says. */
export class ImagePuller {
  readonly #options: ImagePullerOptions
  readonly #backoff = new KeyedBackoff(FIRST_WAIT, LONGEST_WAIT)
  readonly #lastErrors = new Map<string, string>()
  /** When an image was last asked for, so that the garbage collection spares what is used. */
  readonly lastUsed = new Map<string, number>()

  constructor(options: ImagePullerOptions) {
    this.#options = options
  }

  async ensureImage(pod: Pod, container: Container, secrets: readonly Secret[], signal: AbortSignal): Promise<Image> {
    const { images, clock, record } = this.#options
    const written = container.image ?? ''
    const reference = parseImageReference(written)
    if (!reference) throw this.#invalidName(pod, container)
    const policy = container.imagePullPolicy ?? 'IfNotPresent'
    const present = await images.status(reference.withTag)
    if (present && policy !== 'Always') {
      const message = `Container image "${written}" already present on machine and can be accessed by the pod`
      record(pod, container, 'Normal', 'Pulled', message)
      this.lastUsed.set(present.id, clock.now())
      return present
    }
    if (policy === 'Never') {
      const message = `Container image "${written}" is not present with pull policy of Never`
      record(pod, container, 'Warning', 'ErrImageNeverPull', message)
      throw new ImageError('ErrImageNeverPull', message)
    }
    return this.#pull(pod, container, reference, secrets, signal)
  }

  /** A pod that is gone has no back-off any more. */
  forget(uid: string): void {
    this.#backoff.forgetAll(`${uid}_`)
    for (const key of this.#lastErrors.keys()) if (key.startsWith(`${uid}_`)) this.#lastErrors.delete(key)
  }

  #invalidName(pod: Pod, container: Container): ImageError {
    const image = container.image ?? ''
    const message = `Failed to apply default image tag "${image}": couldn't parse image name "${image}": invalid reference format`
    this.#options.record(pod, container, 'Warning', 'InspectFailed', message)
    return new ImageError('InvalidImageName', message)
  }

  async #pull(
    pod: Pod,
    container: Container,
    reference: ImageReference,
    secrets: readonly Secret[],
    signal: AbortSignal,
  ): Promise<Image> {
    const { clock, record } = this.#options
    const written = container.image ?? ''
    const key = `${pod.metadata.uid}_${written}`
    const until = this.#backoff.waitUntil(key, clock.now())
    if (until !== undefined) {
      const message = `Back-off pulling image "${written}": ${this.#lastErrors.get(key) ?? ''}`
      record(pod, container, 'Normal', 'BackOff', `Back-off pulling image "${written}"`)
      throw new ImageError('ImagePullBackOff', message, until)
    }
    record(pod, container, 'Normal', 'Pulling', `Pulling image "${written}"`)
    const begun = clock.now()
    try {
      const image = await this.#pullWithCredentials(reference, credentialsFor(reference, secrets), signal)
      const took = durationText(clock.now() - begun)
      const message = `Successfully pulled image "${written}" in ${took} (${took} including waiting). Image size: ${image.size} bytes.`
      record(pod, container, 'Normal', 'Pulled', message)
      this.#backoff.forget(key)
      this.#lastErrors.delete(key)
      this.lastUsed.set(image.id, clock.now())
      return image
    } catch (error) {
      signal.throwIfAborted()
      throw this.#failed(pod, container, key, (error as Error).message)
    }
  }

  #failed(pod: Pod, container: Container, key: string, message: string): ImageError {
    const { clock, record } = this.#options
    const now = clock.now()
    this.#backoff.next(key, now, now)
    this.#lastErrors.set(key, `ErrImagePull: ${message}`)
    record(pod, container, 'Warning', 'Failed', `Failed to pull image "${container.image}": ${message}`)
    // Half-way through the wait the status says that it is one.
    return new ImageError('ErrImagePull', message, (now + (this.#backoff.waitUntil(key, now) ?? now)) / 2)
  }

  /** Each credential that fits is tried; without any, as nobody in particular. */
  async #pullWithCredentials(
    { withTag }: ImageReference,
    credentials: readonly RegistryAuth[],
    signal: AbortSignal,
  ): Promise<Image> {
    let last: unknown
    for (const auth of credentials.length > 0 ? credentials : [undefined]) {
      try {
        return await this.#options.images.pull(withTag, { signal, ...(auth && { auth }) })
      } catch (error) {
        last = error
        if (signal.aborted) break
      }
    }
    throw last
  }
}

/** As Go prints durations rounded to milliseconds: `313ms`, `1.661s`, `1m2.5s`. */
function durationText(milliseconds: number): string {
  const ms = Math.round(milliseconds)
  if (ms < 1000) return ms === 0 ? '0s' : `${ms}ms`
  const minutes = Math.floor(ms / 60_000)
  const seconds = (ms % 60_000) / 1000
  return minutes > 0 ? `${minutes}m${seconds}s` : `${seconds}s`
}
