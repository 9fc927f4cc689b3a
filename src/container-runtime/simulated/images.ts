import { createHash } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import type { Image, ImageFilesystem, ImageService, PullOptions, RegistryAuth } from '../image-service.ts'
import { RuntimeError } from '../runtime.ts'

export interface SimulatedImageOptions {
  /** Images that no registry has. */
  readonly missing?: RegExp
  /** Images that are here from the start. */
  readonly present?: readonly string[]
  /** Milliseconds a pull takes. */
  readonly pullTakes?: number
  readonly size?: number
  /** Who may pull; everybody without. */
  readonly allowed?: (reference: string, auth: RegistryAuth | undefined) => boolean
  /** The user an image says it runs as. */
  readonly user?: (reference: string) => { readonly uid?: number; readonly username?: string }
}

const DEFAULT_SIZE = 1_000_000

export class SimulatedImages implements ImageService {
  readonly #options: SimulatedImageOptions
  readonly #clock: Clock
  readonly #images = new Map<string, Image>()
  /** How often each reference was pulled. */
  readonly pulls = new Map<string, number>()

  constructor(options: SimulatedImageOptions, clock: Clock) {
    this.#options = options
    this.#clock = clock
    for (const reference of options.present ?? []) this.#add(reference)
  }

  async list(): Promise<readonly Image[]> {
    return [...new Map([...this.#images.values()].map((image) => [image.id, image])).values()]
  }

  async status(reference: string): Promise<Image | undefined> {
    return this.#find(reference)
  }

  async pull(reference: string, options: PullOptions = {}): Promise<Image> {
    const { missing, pullTakes = 0, allowed } = this.#options
    if (pullTakes > 0) await this.#clock.sleep(pullTakes, options.signal)
    this.pulls.set(reference, (this.pulls.get(reference) ?? 0) + 1)
    if (missing?.test(reference)) throw new RuntimeError('NotFound', `${reference}: not found`)
    if (allowed && !allowed(reference, options.auth))
      throw new RuntimeError('FailedPrecondition', `${reference}: pull access denied`)
    return this.#find(reference) ?? this.#add(reference)
  }

  async remove(reference: string): Promise<void> {
    for (const [key, image] of this.#images)
      if (key === reference || image.id === reference || image.repoTags.includes(reference)) this.#images.delete(key)
  }

  async import(): Promise<readonly Image[]> {
    throw new RuntimeError('Unimplemented', 'a simulated runtime has nothing to import into')
  }

  async fsInfo(): Promise<ImageFilesystem> {
    const usedBytes = [...this.#images.values()].reduce((sum, { size }) => sum + size, 0)
    return { mountpoint: '/', usedBytes, inodesUsed: this.#images.size }
  }

  #find(reference: string): Image | undefined {
    return this.#images.get(reference) ?? [...this.#images.values()].find(({ id }) => id === reference)
  }

  #add(reference: string): Image {
    const digest = createHash('sha256').update(reference).digest('hex')
    const image: Image = {
      id: `sha256:${digest}`,
      repoTags: [reference],
      repoDigests: [`${reference.split(/[:@]/)[0]}@sha256:${digest}`],
      size: this.#options.size ?? DEFAULT_SIZE,
      pinned: false,
      ...this.#options.user?.(reference),
    }
    this.#images.set(reference, image)
    return image
  }
}
