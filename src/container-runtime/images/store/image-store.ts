import fs from 'node:fs'
import path from 'node:path'
import type { Clock } from '../../../base/clock.ts'
import type { Logger } from '../../../base/log.ts'
import { removeTree } from '../../../linux/remove-tree.ts'
import type { ImageContent, ImageContents } from '../../image-content.ts'
import type { Image, ImageFilesystem, ImageService, PullOptions, PullProgress } from '../../image-service.ts'
import { RuntimeError } from '../../runtime.ts'
import { archiveSources } from '../archive/archive-sources.ts'
import { imageError, within } from '../image-error.ts'
import type { ImageLimits } from '../limits.ts'
import type { Platform } from '../platform.ts'
import { parseReference, type Reference } from '../reference.ts'
import type { RegistryOptions } from '../registry/endpoints.ts'
import { registrySource } from '../registry/registry-source.ts'
import type { ImageSource } from '../source.ts'
import { type ImageIndex, type ImageRecord, withImage, withoutName } from './image-index.ts'
import { LayerBrigade } from './layer-brigade.ts'
import type { LayerRecord, Layers } from './layers.ts'
import { SharedWork } from './shared-work.ts'
import type { StoreFolder } from './store-folder.ts'
import { sweep } from './sweep.ts'

export interface ImageStoreParts {
  readonly folder: StoreFolder
  readonly index: ImageIndex
  readonly layers: Layers
  readonly clock: Clock
  readonly log: Logger
  readonly limits: ImageLimits
  readonly platform: Platform
  readonly registries: RegistryOptions
  readonly stallTimeout: number
  readonly pinned: readonly string[]
  readonly inUse: (() => Promise<Iterable<string>>) | undefined
}

const COMMIT_ATTEMPTS = 3

export class ImageStore implements ImageService, ImageContents {
  readonly #parts: ImageStoreParts
  readonly #brigade: LayerBrigade
  readonly #pulls = new SharedWork<Image, PullProgress>()
  #isCollecting = false

  constructor(parts: ImageStoreParts) {
    this.#parts = parts
    this.#brigade = new LayerBrigade(parts.layers)
  }

  async list(): Promise<readonly Image[]> {
    this.#collectWhatOthersRemoved()
    return this.#records().flatMap((record) => this.#image(record) ?? [])
  }

  async status(reference: string): Promise<Image | undefined> {
    const record = this.#find(reference)
    return record && this.#image(record)
  }

  async pull(reference: string, options: PullOptions = {}): Promise<Image> {
    const parsed = parseReference(reference)
    if (!parsed)
      throw imageError('InvalidArgument', `failed to parse image reference "${reference}": invalid reference format`)
    // What one may see by a password, another may not see for the asking.
    const key = `${parsed.name} ${JSON.stringify(options.auth ?? {})}`
    const work = (signal: AbortSignal, tell: (progress: PullProgress) => void) =>
      this.#pull(parsed, options, signal, tell)
    return this.#pulls.run(key, work, options.onProgress, options.signal)
  }

  async remove(reference: string): Promise<void> {
    const record = this.#find(reference)
    if (!record) return
    const { folder, index } = this.#parts
    const isId = reference === record.id || reference === record.id.slice('sha256:'.length)
    const name = parseReference(reference)?.name ?? reference
    await folder.locked(async () => {
      const gone = { tags: [], digests: [], removed: true } as const
      const change = (other: ImageRecord) => (isId ? { ...other, ...gone } : withoutName(other, name))
      await index.write(index.read().map((other) => (other.id === record.id ? change(other) : other)))
    })
    await this.collect()
  }

  async import(archive: string): Promise<readonly Image[]> {
    const { platform, limits } = this.#parts
    return this.#working(async (work) => {
      const sources = await archiveSources({ path: path.resolve(archive), platform, limits, folder: work })
      const images: Image[] = []
      const { signal } = new AbortController()
      for (const source of sources) images.push(await this.#bring(source, work, signal, () => {}))
      return images
    })
  }

  async fsInfo(): Promise<ImageFilesystem> {
    const { folder, layers } = this.#parts
    const all = layers.list().flatMap((id) => layers.get(id) ?? [])
    return {
      mountpoint: folder.root,
      usedBytes: sum(all.map(({ bytes }) => bytes)),
      inodesUsed: sum(all.map(({ entries }) => entries)),
    }
  }

  async content(imageId: string): Promise<ImageContent> {
    // A container goes on with an image that was removed meanwhile.
    const record = this.#find(imageId) ?? this.#parts.index.read().find(({ id }) => id === imageId)
    const stack = record && this.#parts.layers.stack(record.top)
    if (!record || !stack) throw new RuntimeError('NotFound', `image "${imageId}" not found`)
    const layers = stack.map(({ id }) => this.#parts.layers.root(id))
    return { layers: layers.length > 0 ? layers : [this.#nothing()], mounts: [], config: record.config }
  }

  /** Takes away what nobody needs: images without a name that no container uses, and layers of no image. */
  async collect(): Promise<void> {
    const { inUse } = this.#parts
    if (inUse) await sweep(this.#parts, inUse)
  }

  /** Another process removes names only; who lists now and then, as the kubelet does, clears away after it. */
  #collectWhatOthersRemoved(): void {
    const { index, log } = this.#parts
    if (this.#isCollecting || !index.read().some(({ removed }) => removed)) return
    this.#isCollecting = true
    this.collect()
      .catch((error) => log.warn('images were not cleared away', { error }))
      .finally(() => {
        this.#isCollecting = false
      })
  }

  async #pull(
    reference: Reference,
    { auth }: PullOptions,
    signal: AbortSignal,
    tell: (progress: PullProgress) => void,
  ): Promise<Image> {
    const { name } = reference
    return this.#working(async (folder) => {
      let source: ImageSource
      try {
        source = await registrySource({ ...this.#parts, reference, auth, folder, signal })
      } catch (error) {
        signal.throwIfAborted()
        throw within(`failed to pull and unpack image "${name}": failed to resolve reference "${name}"`, error)
      }
      try {
        return await this.#bring(source, folder, signal, tell)
      } catch (error) {
        signal.throwIfAborted()
        throw within(`failed to pull and unpack image "${name}"`, error)
      }
    })
  }

  async #working<T>(work: (folder: string) => Promise<T>): Promise<T> {
    const lease = this.#parts.folder.lease()
    try {
      return await work(lease)
    } finally {
      await removeTree(lease)
    }
  }

  /** Layers, and then the record: under the lock, and only if the layers are still there. */
  async #bring(
    source: ImageSource,
    work: string,
    signal: AbortSignal,
    tell: (progress: PullProgress) => void,
  ): Promise<Image> {
    const { folder, index, layers } = this.#parts
    for (let attempt = 1; attempt <= COMMIT_ATTEMPTS; attempt++) {
      const top = await this.#brigade.bring({ source, work, signal, tell })
      const { id, tags, digests, configuration } = source
      const record: ImageRecord = { id, tags, digests, top, config: configuration.config }
      const isIn = await folder.locked(async () => {
        if (!layers.stack(top)) return false
        await index.write(withImage(index.read(), record))
        return true
      })
      const image = isIn && this.#image(index.read().find((other) => other.id === id)!)
      if (image) return image
    }
    throw imageError('Unavailable', 'layers were taken away again and again while the image was pulled')
  }

  #records(): ImageRecord[] {
    return this.#parts.index.read().filter(({ removed }) => !removed)
  }

  #find(reference: string): ImageRecord | undefined {
    const records = this.#records()
    const byId = records.find(({ id }) => id === reference || id === `sha256:${reference}`)
    if (byId) return byId
    const name = parseReference(reference)?.name
    return records.find(({ tags, digests }) => name !== undefined && (tags.includes(name) || digests.includes(name)))
  }

  /** Undefined if its layers are gone. */
  #image({ id, tags, digests, top, config }: ImageRecord): Image | undefined {
    const stack = this.#parts.layers.stack(top)
    if (!stack) return undefined
    const pinned = [id, ...tags, ...digests].some((name) => this.#parts.pinned.includes(name))
    return { id, repoTags: tags, repoDigests: digests, size: sizeOf(stack), pinned, ...userOf(config.user) }
  }

  /** What an image without layers is made of. */
  #nothing(): string {
    const folder = path.join(this.#parts.folder.root, 'nothing')
    fs.mkdirSync(folder, { recursive: true, mode: 0o755 })
    return folder
  }
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0)
const sizeOf = (stack: readonly LayerRecord[]) => sum(stack.map(({ bytes }) => bytes))

function userOf(user: string): { uid?: number; username?: string } {
  const [name = ''] = user.split(':')
  if (name === '') return {}
  return /^\d+$/.test(name) ? { uid: Number(name) } : { username: name }
}
