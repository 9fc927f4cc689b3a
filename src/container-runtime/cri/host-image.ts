import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { ownArchitecture } from '../../linux/syscall-numbers.ts'
import type { Images } from '../all-images.ts'
import type { ContainerConfig } from '../container-config.ts'
import type { Image, ImageService, PullOptions } from '../image-service.ts'
import { RuntimeError } from '../runtime.ts'
import type { PodSandboxConfig } from '../sandbox-config.ts'
import { ociArchive } from './containerd/oci-archive.ts'
import { folderEntries } from './containerd/tar-writer.ts'

/** The host image on a runtime of others: its skeleton becomes an image there, and the host's folders are mounts. */
export class HostImageOnCri implements ImageService {
  readonly #images: ImageService
  readonly #host: Images
  #installed: Promise<unknown> | undefined

  constructor(images: ImageService, host: Images) {
    this.#images = images
    this.#host = host
  }

  list() {
    return this.#images.list()
  }

  async status(reference: string): Promise<Image | undefined> {
    const ours = await this.#host.status(reference)
    if (!ours) return this.#images.status(reference)
    const name = ours.repoTags[0]!
    // Made anew by each process: the host may have changed.
    this.#installed ??= this.#install(name)
    await this.#installed
    return this.#images.status(name)
  }

  async pull(reference: string, options?: PullOptions): Promise<Image> {
    if (!(await this.#host.status(reference))) return this.#images.pull(reference, options)
    const there = await this.status(reference)
    if (there) return there
    // It was removed as unused.
    this.#installed = undefined
    const image = await this.status(reference)
    if (!image) throw new RuntimeError('Internal', `image ${reference} could not be made`)
    return image
  }

  remove(reference: string) {
    return this.#images.remove(reference)
  }

  import(file: string) {
    return this.#images.import(file)
  }

  fsInfo() {
    return this.#images.fsInfo()
  }

  /** A container of the host image sees the host's folders, below what it mounts itself. */
  async complete(config: ContainerConfig, sandbox: PodSandboxConfig): Promise<ContainerConfig> {
    const ours = await this.#host.status(config.image)
    if (!ours) return config
    const content = await this.#host.content(ours.id, sandbox.annotations)
    const own = new Set(config.mounts.map(({ containerPath }) => containerPath))
    const mounts = [...content.mounts.filter(({ containerPath }) => !own.has(containerPath)), ...config.mounts]
    return { ...config, mounts, workingDir: config.workingDir || content.config.workingDir }
  }

  async #install(name: string): Promise<void> {
    const { layers, config } = await this.#host.content(name, {})
    const folder = await mkdtemp(path.join(tmpdir(), 'sampan-host-image-'))
    try {
      const file = path.join(folder, 'host.tar')
      await writeFile(file, ociArchive(name, folderEntries(layers[0]!), config, ownArchitecture()))
      await this.#images.import(file)
    } catch (error) {
      this.#installed = undefined
      throw error
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }
}
