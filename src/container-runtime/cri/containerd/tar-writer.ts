/** A tar archive in memory, for the small images that are made on the spot. */
import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import path from 'node:path'

export interface TarEntry {
  /** Relative, at most a hundred bytes. */
  readonly name: string
  readonly mode: number
  readonly content?: Buffer
  /** A symbolic link to this. */
  readonly link?: string
  readonly isFolder?: boolean
}

const BLOCK = 512
const NAME_BYTES = 100

export function tarOf(entries: readonly TarEntry[]): Buffer {
  const parts = entries.flatMap((entry) => {
    const { content = Buffer.alloc(0) } = entry
    return [header(entry), content, Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK)]
  })
  return Buffer.concat([...parts, Buffer.alloc(2 * BLOCK)])
}

/** Everything below a folder, its folders first. */
export function folderEntries(root: string, below = ''): TarEntry[] {
  return readdirSync(path.join(root, below)).flatMap((name): TarEntry[] => {
    const relative = path.join(below, name)
    const file = path.join(root, relative)
    const stat = lstatSync(file)
    const mode = stat.mode & 0o7777
    if (stat.isSymbolicLink()) return [{ name: relative, mode, link: readlinkSync(file) }]
    if (!stat.isDirectory()) return [{ name: relative, mode, content: readFileSync(file) }]
    return [{ name: `${relative}/`, mode, isFolder: true }, ...folderEntries(root, relative)]
  })
}

function header({ name, mode, content, link = '', isFolder = false }: TarEntry): Buffer {
  if (Buffer.byteLength(name) > NAME_BYTES || Buffer.byteLength(link) > NAME_BYTES)
    throw new RangeError(`${name}: the name is too long for this archive`)
  const block = Buffer.alloc(BLOCK)
  const octal = (value: number, at: number, size: number) =>
    block.write(value.toString(8).padStart(size - 1, '0'), at, size - 1, 'latin1')
  block.write(name, 0)
  octal(mode, 100, 8)
  octal(0, 108, 8)
  octal(0, 116, 8)
  octal(content?.length ?? 0, 124, 12)
  octal(0, 136, 12)
  block.fill(' ', 148, 156)
  block.write(link ? '2' : isFolder ? '5' : '0', 156)
  block.write(link, 157)
  block.write('ustar\x0000', 257, 'latin1')
  const sum = block.reduce((total, byte) => total + byte, 0)
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1')
  return block
}
