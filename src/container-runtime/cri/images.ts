import type { Image, ImageFilesystem, ImageService, PullOptions } from '../image-service.ts'
import { RuntimeError } from '../runtime.ts'
import type { Connection } from './connection.ts'
import { unlessMissing } from './errors.ts'
import { imageOf } from './from-cri.ts'
import type { Image as ImageMessage } from './messages/runtime.ts'
import { METHOD } from './methods.ts'

/** Brings an archive into the runtime beside CRI, which has no verb for it; the names of the images it brought. */
export type ImportArchive = (path: string) => Promise<readonly string[]>

/** The images of a CRI runtime. It removes whole images only, whichever name they are called by. */
export class CriImages implements ImageService {
  readonly #connection: Connection
  readonly #importArchive: ImportArchive | undefined
  readonly #pinned: readonly string[]

  /** `pinned` are names of images that must not be collected, whatever the runtime says. */
  constructor(connection: Connection, importArchive?: ImportArchive, pinned: readonly string[] = []) {
    this.#connection = connection
    this.#importArchive = importArchive
    this.#pinned = pinned
  }

  async list(): Promise<readonly Image[]> {
    const { images = [] } = await this.#connection.call(METHOD.listImages, {})
    return images.map((image) => this.#image(image))
  }

  async status(reference: string): Promise<Image | undefined> {
    const { image } = await this.#connection.call(METHOD.imageStatus, { image: { image: reference } })
    return image && this.#image(image)
  }

  async pull(reference: string, { auth = {}, signal }: PullOptions = {}): Promise<Image> {
    const { username, password, identityToken, registryToken } = auth
    const request = {
      image: { image: reference },
      auth: {
        ...(username !== undefined && { username }),
        ...(password !== undefined && { password }),
        ...(identityToken !== undefined && { identity_token: identityToken }),
        ...(registryToken !== undefined && { registry_token: registryToken }),
      },
    }
    // A large image from a slow registry takes what it takes.
    const settings = { timeout: Number.POSITIVE_INFINITY, ...(signal && { signal }) }
    const { image_ref: pulled = reference } = await this.#connection
      .call(METHOD.pullImage, request, settings)
      .catch((error: RuntimeError) => {
        throw new RuntimeError(error.code, error.message, { cause: error, reason: 'ErrImagePull' })
      })
    const image = await this.status(pulled)
    if (!image) throw new RuntimeError('NotFound', `image "${reference}" was pulled and is gone`)
    return image
  }

  async remove(reference: string): Promise<void> {
    await this.#connection.call(METHOD.removeImage, { image: { image: reference } }).catch(unlessMissing)
  }

  async import(path: string): Promise<readonly Image[]> {
    if (!this.#importArchive)
      throw new RuntimeError('Unimplemented', `${path}: this runtime takes images from registries only`)
    const names = await this.#importArchive(path)
    const images = await Promise.all(names.map((name) => this.status(name)))
    return images.filter((image) => image !== undefined)
  }

  async fsInfo(): Promise<ImageFilesystem> {
    const { image_filesystems: filesystems = [] } = await this.#connection.call(METHOD.imageFsInfo, {})
    const [first] = filesystems
    return {
      mountpoint: first?.fs_id?.mountpoint ?? '/',
      usedBytes: first?.used_bytes?.value ?? 0,
      inodesUsed: first?.inodes_used?.value ?? 0,
    }
  }

  #image(message: ImageMessage): Image {
    const image = imageOf(message)
    return this.#pinned.some((name) => image.repoTags.includes(name)) ? { ...image, pinned: true } : image
  }
}
