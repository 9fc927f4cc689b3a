/** The list of images, shared with other processes: read anew when the file has changed. */
import fs from 'node:fs'
import { writeFileAtomically } from '../../../base/atomic-file.ts'
import type { ImageConfig } from '../../image-content.ts'
import type { StoreFolder } from './store-folder.ts'

export interface ImageRecord {
  readonly id: string
  readonly tags: readonly string[]
  readonly digests: readonly string[]
  /** The uppermost layer; undefined for an image of nothing. */
  readonly top: string | undefined
  readonly config: ImageConfig
  /** Nobody asks for it any more, but a container may still use it. */
  readonly removed?: boolean
}

export class ImageIndex {
  readonly #folder: StoreFolder
  #seen = ''
  #records: readonly ImageRecord[] = []

  constructor(folder: StoreFolder) {
    this.#folder = folder
  }

  read(): readonly ImageRecord[] {
    const stat = fs.statSync(this.#folder.index, { throwIfNoEntry: false, bigint: true })
    const seen = stat ? `${stat.ino}:${stat.mtimeNs}:${stat.size}` : ''
    if (seen !== this.#seen) {
      this.#records = stat
        ? (JSON.parse(fs.readFileSync(this.#folder.index, 'utf8')) as { images: ImageRecord[] }).images
        : []
      this.#seen = seen
    }
    return this.#records
  }

  /** Under the store's lock only. */
  async write(images: readonly ImageRecord[]): Promise<void> {
    await writeFileAtomically(this.#folder.index, `${JSON.stringify({ images }, undefined, 1)}\n`)
  }
}

/** The records with this image added, its new names first; they are taken from others. */
export function withImage(records: readonly ImageRecord[], added: ImageRecord): ImageRecord[] {
  const known = records.find(({ id }) => id === added.id)
  const kept = known?.removed ? undefined : known
  const others = records
    .filter(({ id }) => id !== added.id)
    .map((record) => {
      const tags = record.tags.filter((tag) => !added.tags.includes(tag))
      return tags.length === record.tags.length ? record : { ...record, tags }
    })
  const union = (a: readonly string[], b: readonly string[] = []) => [...new Set([...a, ...b])]
  return [...others, { ...added, tags: union(added.tags, kept?.tags), digests: union(added.digests, kept?.digests) }]
}

const repositoryOf = (name: string) => name.replace(/(:[^/:@]+)?(@.*)?$/, '')

/** Without this name; with its last tag a repository's digests go as well, and with the last name the image. */
export function withoutName(record: ImageRecord, name: string): ImageRecord {
  const tags = record.tags.filter((tag) => tag !== name)
  const wasTag = tags.length < record.tags.length
  const repository = repositoryOf(name)
  const isLast = wasTag && !tags.some((tag) => repositoryOf(tag) === repository)
  const digests = record.digests.filter((digest) => digest !== name && !(isLast && repositoryOf(digest) === repository))
  return { ...record, tags, digests, ...(tags.length + digests.length === 0 && { removed: true }) }
}
