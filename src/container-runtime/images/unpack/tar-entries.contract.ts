/** Tars for tests, also such as no decent program writes. */
import { BLOCK } from './tar-header.ts'

export interface TestEntry {
  readonly name: string
  readonly type?: string
  readonly data?: string | Buffer
  readonly link?: string
  readonly mode?: number
  readonly uid?: number
  readonly gid?: number
  readonly mtime?: number
  readonly major?: number
  readonly minor?: number
  /** Instead of the length of the data. */
  readonly size?: number
  /** A pax header before it. */
  readonly pax?: Readonly<Record<string, string>>
}

export function testTar(entries: readonly TestEntry[], options: { readonly end?: boolean } = {}): Buffer {
  const parts: Buffer[] = []
  for (const entry of entries) {
    if (entry.pax) parts.push(...blocksOf({ name: 'pax', type: 'x', data: paxOf(entry.pax) }))
    parts.push(...blocksOf(entry))
  }
  if (options.end !== false) parts.push(Buffer.alloc(2 * BLOCK))
  return Buffer.concat(parts)
}

function paxOf(values: Readonly<Record<string, string>>): Buffer {
  const records = Object.entries(values).map(([key, value]) => {
    const rest = Buffer.byteLength(` ${key}=${value}\n`)
    let length = rest + String(rest).length
    if (rest + String(length).length !== length) length++
    return `${length} ${key}=${value}\n`
  })
  return Buffer.from(records.join(''))
}

function blocksOf(entry: TestEntry): Buffer[] {
  const data = Buffer.from(entry.data ?? '')
  return [headerOf(entry, entry.size ?? data.length), data, Buffer.alloc(-data.length & (BLOCK - 1))]
}

function headerOf(entry: TestEntry, size: number): Buffer {
  const block = Buffer.alloc(BLOCK)
  const octal = (value: number, at: number, length: number) =>
    block.write(`${value.toString(8).padStart(length - 1, '0')}\0`, at, 'latin1')
  block.write(entry.name, 0, 100)
  octal(entry.mode ?? 0o644, 100, 8)
  octal(entry.uid ?? process.getuid?.() ?? 0, 108, 8)
  octal(entry.gid ?? process.getgid?.() ?? 0, 116, 8)
  octal(size, 124, 12)
  octal(entry.mtime ?? 1_000_000_000, 136, 12)
  block.fill(0x20, 148, 156)
  block.write(entry.type ?? '0', 156)
  block.write(entry.link ?? '', 157, 100)
  block.write('ustar\x0000', 257, 'latin1')
  octal(entry.major ?? 0, 329, 8)
  octal(entry.minor ?? 0, 337, 8)
  let sum = 0
  for (const byte of block) sum += byte
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1')
  return block
}
