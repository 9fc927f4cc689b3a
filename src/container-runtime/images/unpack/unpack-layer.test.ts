import { execFileSync } from 'node:child_process'
import { existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { DEFAULT_LIMITS } from '../limits.ts'
import { decompressed } from './decompress.ts'
import { LayerTree } from './layer-tree.ts'
import type { PrivilegedFiles } from './privileged-files.ts'
import { type TestEntry, testTar } from './tar-entries.contract.ts'
import { unpackLayer } from './unpack-layer.ts'

let scratch: string
let root: string
/** Where the tree puts what it removes. */
let trash: string
beforeEach(() => {
  scratch = mkdtempSync(path.join(tmpdir(), 'unpack-'))
  root = path.join(scratch, 'outer', 'root')
  mkdirSync(root, { recursive: true })
  trash = mkdtempSync(path.join(tmpdir(), 'unpack-removed-'))
})
afterEach(() => {
  for (const folder of [scratch, trash]) rmSync(folder, { recursive: true, force: true })
})

const refused = async () => {
  throw Object.assign(new Error('no'), { code: 'EPERM' })
}
const files: PrivilegedFiles = { mknod: refused, setxattr: refused }

async function* chunksOf(tar: Buffer, size = 700): AsyncGenerator<Buffer> {
  for (let at = 0; at < tar.length; at += size) yield tar.subarray(at, at + size)
}

async function unpack(tar: Buffer, limits = {}) {
  using tree = new LayerTree({
    root,
    removed: mkdtempSync(path.join(trash, 'layer-')),
    lowers: [],
    flat: true,
    files,
    opaqueAttribute: 'x',
  })
  return await unpackLayer(chunksOf(tar), { tree, files, limits: { ...DEFAULT_LIMITS, ...limits } })
}
const unpackEntries = (...entries: TestEntry[]) => unpack(testTar(entries))
const read = (name: string) => readFileSync(path.join(root, name), 'utf8')

/** Nothing but the root itself is in the folders around it. */
function expectNothingOutside() {
  expect(readdirSync(scratch)).toEqual(['outer'])
  expect(readdirSync(path.join(scratch, 'outer'))).toEqual(['root'])
}

describe('what a decent tar has', () => {
  test('files, folders, links, modes and times', async () => {
    await unpackEntries(
      { name: './', type: '5', mode: 0o711 },
      { name: './etc/', type: '5', mode: 0o750, mtime: 5 },
      { name: './etc/motd', data: 'hello', mode: 0o4755 },
      { name: './etc/also', type: '1', link: './etc/motd' },
      { name: './etc/link', type: '2', link: '/etc/motd' },
      { name: 'implied/way/file', data: 'x'.repeat(1500) },
      { name: 'old/', type: '0' },
    )
    expect(read('etc/motd')).toBe('hello')
    expect(lstatSync(path.join(root, 'etc/motd')).mode & 0o7777).toBe(0o4755)
    expect(lstatSync(path.join(root, 'etc/also')).ino).toBe(lstatSync(path.join(root, 'etc/motd')).ino)
    expect(readlinkSync(path.join(root, 'etc/link'))).toBe('/etc/motd')
    expect(lstatSync(path.join(root, 'etc')).mode & 0o7777).toBe(0o750)
    expect(lstatSync(path.join(root, 'etc')).mtimeMs).toBe(5000)
    expect(lstatSync(root).mode & 0o7777).toBe(0o711)
    expect(read('implied/way/file')).toHaveLength(1500)
    expect(lstatSync(path.join(root, 'old')).isDirectory()).toBe(true)
  })

  test('names longer than a header takes, by pax and by GNU', async () => {
    const long = `${'a'.repeat(90)}/${'b'.repeat(90)}`
    await unpackEntries(
      { name: 'short', data: '1', pax: { path: `pax/${long}`, mtime: '7.5' } },
      { name: '././@LongLink', type: 'L', data: `gnu/${long}\0` },
      { name: 'short', data: '2' },
      { name: 'l', type: '2', link: 'x', pax: { linkpath: long } },
    )
    expect(read(`pax/${long}`)).toBe('1')
    expect(lstatSync(path.join(root, `pax/${long}`)).mtimeMs).toBe(7500)
    expect(read(`gnu/${long}`)).toBe('2')
    expect(readlinkSync(path.join(root, 'l'))).toBe(long)
  })

  test('the last entry by a name wins', async () => {
    await unpackEntries(
      { name: 'a', data: '1' },
      { name: 'a', data: '2' },
      { name: 'b', data: '1' },
      { name: 'b/', type: '5' },
      { name: 'b/c', data: '3' },
      { name: 'd/e', data: '4' },
      { name: 'd', type: '2', link: 'b' },
      { name: 'd/f', data: '5' },
    )
    expect(read('a')).toBe('2')
    expect(read('b/c')).toBe('3')
    expect(read('b/f')).toBe('5')
    expect(lstatSync(path.join(root, 'd')).isSymbolicLink()).toBe(true)
  })

  test('a tree as GNU tar unpacks it', async () => {
    for (const format of ['gnu', 'pax', 'ustar']) {
      rmSync(root, { recursive: true })
      mkdirSync(root)
      const from = path.resolve(import.meta.dirname, '../..')
      const tar = execFileSync('tar', [`--format=${format}`, '-C', from, '-cf', '-', '.'], { maxBuffer: 1e9 })
      await unpack(tar)
      execFileSync('diff', ['-r', from, root])
    }
  })
})

describe('what a hostile tar has', () => {
  const passwd = '../../../../../../../../etc/passwd'
  const refusals: [string, TestEntry[]][] = [
    ['a name above the root', [{ name: '../evil', data: 'x' }]],
    ['a name that climbs later', [{ name: 'a/../../evil', data: 'x' }]],
    ['a folder above the root', [{ name: '..', type: '5' }]],
    ['a pax name above the root', [{ name: 'a', data: 'x', pax: { path: '../evil' } }]],
    ['a hard link above the root', [{ name: 'a', type: '1', link: passwd }]],
    [
      'a hard link to a folder',
      [
        { name: 'a/', type: '5' },
        { name: 'b', type: '1', link: 'a' },
      ],
    ],
    ['a hard link to the root', [{ name: 'b', type: '1', link: '.' }]],
    ['a hard link to nothing', [{ name: 'b', type: '1', link: 'a' }]],
    [
      'a hard link through a link',
      [
        { name: 'l', type: '2', link: '/etc' },
        { name: 'b', type: '1', link: 'l/passwd' },
      ],
    ],
    [
      'a file below a file',
      [
        { name: 'a', data: 'x' },
        { name: 'a/b', data: 'x' },
      ],
    ],
    [
      'links in a circle',
      [
        { name: 'a', type: '2', link: 'b' },
        { name: 'b', type: '2', link: 'a' },
        { name: 'a/c', data: '' },
      ],
    ],
    ['a link to nowhere', [{ name: 'a', type: '2', link: '' }]],
    ['a NUL in a name', [{ name: 'a', data: 'x', pax: { path: 'a\0b' } }]],
    ['a NUL in a link', [{ name: 'a', type: '2', link: 'x', pax: { linkpath: 'a\0b' } }]],
    ['a huge header', [{ name: 'a', type: 'x', size: 2 ** 31 }]],
    ['a huge GNU name', [{ name: 'a', type: 'L', size: 2 ** 31 }]],
    ['pax records of nonsense', [{ name: 'p', type: 'x', data: '99999 a=b\n' }]],
    ['a pax record that ends before it begins', [{ name: 'p', type: 'x', data: '2 a=b\n' }]],
    ['a negative size', [{ name: 'a', data: 'x', pax: { size: '-5' } }]],
    ['a sparse file', [{ name: 'a', data: 'x', pax: { 'GNU.sparse.major': '1' } }]],
    ['an old sparse file', [{ name: 'a', type: 'S', data: 'x' }]],
    ['an owner that cannot be', [{ name: 'a', data: 'x', pax: { uid: '-1' } }]],
    ['a whiteout of the folder above', [{ name: 'a/.wh...', data: '' }]],
    ['a whiteout of nothing', [{ name: 'a/.wh.', data: '' }]],
    ['a device that hides files', [{ name: 'a', type: '3' }]],
    ['an unknown type', [{ name: 'a', type: 'Q' }]],
    ['a name without end', [{ name: 'a', data: 'x', pax: { path: 'a/'.repeat(5000) } }]],
  ]
  test.each(refusals)('%s is refused', async (_name, entries) => {
    await expect(unpackEntries(...entries)).rejects.toThrow()
    expectNothingOutside()
    if (existsSync(path.join(root, 'b'))) expect(lstatSync(path.join(root, 'b')).isSymbolicLink()).toBe(true)
  })

  test('an absolute name begins at the root of the image', async () => {
    await unpackEntries({ name: '/etc/evil', data: 'x' })
    expect(read('etc/evil')).toBe('x')
    expect(existsSync('/etc/evil')).toBe(false)
  })

  test.each(['/', '../../../..', '/proc/self/root', '.'])(
    'a link to %s leads nowhere but into the image',
    async (link) => {
      await unpackEntries({ name: 'out', type: '2', link }, { name: 'out/tmp/evil', data: 'x' })
      const found = execFileSync('find', [root, '-name', 'evil'], { encoding: 'utf8' }).trim().split('\n')
      expect(found).toHaveLength(1)
      expectNothingOutside()
    },
  )

  test('a file is never written through a link', async () => {
    const victim = path.join(scratch, 'outer', 'root', 'victim')
    await unpackEntries(
      { name: 'victim', data: 'safe' },
      { name: 'evil', type: '2', link: victim },
      { name: 'evil', data: 'x' },
    )
    expect(read('victim')).toBe('safe')
    expect(read('evil')).toBe('x')
  })

  test('more bytes, or more files, than the limit', async () => {
    const large = testTar([{ name: 'a', data: Buffer.alloc(20_000) }])
    await expect(unpack(large, { layerBytes: 10_000 })).rejects.toThrow('more than 10000 bytes')
    const many = testTar(Array.from({ length: 20 }, (_, i) => ({ name: `f${i}`, data: '' })))
    await expect(unpack(many, { layerEntries: 10 })).rejects.toThrow('more than 10 files')
  })

  test('a tar that ends early, or is none', async () => {
    const tar = testTar([{ name: 'a', data: 'x'.repeat(3000) }])
    await expect(unpack(tar.subarray(0, 1500))).rejects.toThrow('middle of an entry')
    await expect(unpack(Buffer.alloc(2000, 7))).rejects.toThrow('a tar header has a bad number')
    await expect(unpack(Buffer.from('short'))).rejects.toThrow('middle of an entry')
  })

  test('devices are left out where they are forbidden', async () => {
    await unpackEntries({ name: 'dev/sda', type: '4', major: 8, minor: 0 }, { name: 'after', data: 'x' })
    expect(existsSync(path.join(root, 'dev/sda'))).toBe(false)
    expect(read('after')).toBe('x')
  })
})

describe('compression', () => {
  const text = Buffer.from('hello '.repeat(50_000))
  const MAGIC = [0x28, 0xb5, 0x2f, 0xfd]
  /** What the zstd program makes of the text. */
  const zstdStreams = [
    [
      'with a checksum',
      '28b52ffd04587400003068656c6c6f200100f7ffc94b114c0000086c0100fcff3910024d0000086f0100dc131d0801632abe32',
    ],
    [
      'without a checksum',
      '28b52ffd00687400003068656c6c6f200100f7ffc94b11440000000100fdffc90b10450000000100dd131d0001',
    ],
    [
      'with a window of 32 MiB',
      '28b52ffd00787400003068656c6c6f200100f7ffc94b114c0000086c0100fcff3910024d0000086f0100dc131d0801',
    ],
    [
      'in two frames, with one to skip between them',
      '28b52ffd04587400003068656c6c6f200100f7ffc94b11450000086c0100ecc90e84c1e28cd8502a4d1803000000aabbcc28b52ffd04587400003068656c6c6f200100f7ffc94b11450000086c0100ecc90e84c1e28cd8',
    ],
  ].map(([name, hex]) => [name!, Buffer.from(hex!, 'hex')] as const)
  async function all(bytes: Buffer, size: number): Promise<Buffer> {
    const parts: Buffer[] = []
    for await (const part of decompressed(chunksOf(bytes, size))) parts.push(part)
    return Buffer.concat(parts)
  }

  test.each([1, 3, 700, 1_000_000])('is told by the first bytes, in chunks of %i', async (size) => {
    expect((await all(gzipSync(text), size)).equals(text)).toBe(true)
    expect((await all(text.subarray(0, 3000), size)).equals(text.subarray(0, 3000))).toBe(true)
  })

  test.each(zstdStreams)('zstd is decoded: %s', async (_name, bytes) => {
    for (const size of [1, 50, 100_000]) expect((await all(bytes, size)).equals(text)).toBe(true)
  })

  test.each([
    ['a window of gigabytes', [0x00, 0xa8]],
    ['a window of gigabytes in the second frame', [0x20, 1, 9, 0, 0, 0x41, ...MAGIC, 0x00, 0xa8]],
    ['content of gigabytes as one segment', [0xa0, 0, 0, 0, 0x60]],
  ])('zstd is refused with %s', async (_name, frame) => {
    const blocks = Buffer.from(Array.from({ length: 64 }, () => [0x0a, 0, 0, 0x41]).flat())
    await expect(all(Buffer.concat([Buffer.from([...MAGIC, ...frame]), blocks]), 100)).rejects.toThrow('damaged')
  })

  test('damage is an error', async () => {
    const damaged = gzipSync(text)
    damaged.fill(0x55, 40, 80)
    await expect(all(damaged, 100)).rejects.toThrow('damaged')
    await expect(all(gzipSync(text).subarray(0, 100), 30)).rejects.toThrow('damaged')
  })
})
