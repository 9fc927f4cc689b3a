/** The files of an archive of images, whether a folder or a tar: read in place, nothing is taken out. */
import fs from 'node:fs'
import path from 'node:path'
import type { Readable } from 'node:stream'
import { badImage } from '../image-error.ts'
import { indexTar, type TarPart } from './tar-index.ts'

export interface ArchiveFiles {
  has(name: string): boolean
  size(name: string): number
  read(name: string, limit: number): Buffer
  open(name: string): Readable
}

const CHUNK = 256 * 1024
const MOST_LINKS = 10

/** Names are those that documents of the archive give: neither they nor links lead out of the folder. */
export function folderFiles(folder: string): ArchiveFiles {
  const root = fs.realpathSync(folder)
  const find = (name: string): string | undefined => {
    const file = attempt(() => fs.realpathSync(path.join(root, name)))
    return file?.startsWith(`${root}/`) && fs.statSync(file).isFile() ? file : undefined
  }
  const at = (name: string): string => {
    const file = find(name)
    if (file === undefined) throw badImage(`the archive has no ${name}`)
    return file
  }
  const size = (name: string) => fs.statSync(at(name)).size
  return {
    has: (name) => find(name) !== undefined,
    size,
    read(name, limit) {
      if (size(name) > limit) throw badImage(`${name} is larger than ${limit} bytes`)
      return fs.readFileSync(at(name))
    },
    open: (name) => fs.createReadStream(at(name), { highWaterMark: CHUNK }),
  }
}

function attempt<T>(look: () => T): T | undefined {
  try {
    return look()
  } catch {
    return undefined
  }
}

/** Of a tar without compression. */
export function tarFiles(file: string, headerLimit: number): ArchiveFiles {
  const index = indexTar(file, headerLimit)
  const find = (name: string): TarPart => {
    let part = index.get(name)
    let at = name
    // Docker's archives link layers that are there twice.
    for (let links = 0; part?.link !== undefined && links < MOST_LINKS; links++) {
      at = path.posix.normalize(part.isHardLink ? part.link : path.posix.join(path.posix.dirname(at), part.link))
      part = index.get(at)
    }
    if (!part || part.link !== undefined) throw badImage(`the archive has no ${name}`)
    return part
  }
  return {
    has: (name) => index.has(name),
    size: (name) => find(name).size,
    read(name, limit) {
      const { start, size } = find(name)
      if (size > limit) throw badImage(`${name} is larger than ${limit} bytes`)
      const bytes = Buffer.alloc(size)
      const descriptor = fs.openSync(file, 'r')
      try {
        if (fs.readSync(descriptor, bytes, 0, size, start) !== size) throw badImage('the archive is cut short')
      } finally {
        fs.closeSync(descriptor)
      }
      return bytes
    },
    open(name) {
      const { start, size } = find(name)
      // An empty range cannot be said.
      if (size === 0) return fs.createReadStream('/dev/null')
      return fs.createReadStream(file, { start, end: start + size - 1, highWaterMark: CHUNK })
    },
  }
}
