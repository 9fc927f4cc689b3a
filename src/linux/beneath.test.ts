import { execFileSync } from 'node:child_process'
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  type BeneathOptions,
  entryOf,
  O_FOLDER,
  O_PLACE,
  type Opened,
  openBeneath,
  openBeneathNow,
  openFileBeneath,
  openFolder,
} from './beneath.ts'
import { O_NOFOLLOW } from './mounts.ts'

let scratch: string
let root: Opened
beforeEach(async () => {
  scratch = mkdtempSync(path.join(tmpdir(), 'beneath-'))
  mkdirSync(path.join(scratch, 'root', 'a', 'b'), { recursive: true })
  writeFileSync(path.join(scratch, 'secret'), 'secret')
  writeFileSync(path.join(scratch, 'root', 'a', 'file'), 'inside')
  const links = {
    inner: 'a',
    'a/up': '..',
    'a/up-and-down': '../a/b',
    out: '../secret',
    'far-out': '../../../../../../etc',
    absolute: '/etc',
    'absolute-inside': path.join(scratch, 'root', 'a'),
    magic: '/proc/self/root',
    dangling: 'nothing',
    circle: 'circle',
  }
  for (const [link, text] of Object.entries(links)) symlinkSync(text, path.join(scratch, 'root', link))
  root = await openFolder(path.join(scratch, 'root'))
})
afterEach(() => {
  root[Symbol.dispose]()
  rmSync(scratch, { recursive: true, force: true })
})

const inside = (place: string) => statSync(path.join(scratch, 'root', place)).ino
/** What both ways to open find: the inode, or the name of the error. */
async function found(at: string, options: BeneathOptions): Promise<number | string> {
  const inode = (opened: Opened) => {
    using one = opened
    return statSync(one.path).ino
  }
  const code = (error: NodeJS.ErrnoException) => error.code ?? error.message
  const results = await Promise.all([
    openBeneath(root.descriptor, at, options).then(inode, code),
    Promise.resolve()
      .then(() => openBeneathNow(root.descriptor, at, options))
      .then(inode, code),
  ])
  expect(results[0]).toBe(results[1])
  return results[0]
}

describe('a path beneath a folder', () => {
  test.each([
    ['.', ''],
    ['a/file', 'a/file'],
    ['a/b', 'a/b'],
    ['a/b/../file', 'a/file'],
    ['a//./file', 'a/file'],
  ])('%s is opened, whatever is said of links', async (at, place) => {
    for (const links of ['refuse', 'follow'] as const)
      expect(await found(at, { flags: O_PLACE, links })).toBe(inside(place))
  })

  test.each([
    ['inner/file', 'a/file', 'ELOOP'],
    ['a/up/a/file', 'a/file', 'ELOOP'],
    ['a/up-and-down', 'a/b', 'ELOOP'],
  ])('%s leads through a link inside: followed only if asked', async (at, place, code) => {
    expect(await found(at, { flags: O_PLACE, links: 'follow' })).toBe(inside(place))
    expect(await found(at, { flags: O_PLACE })).toBe(code)
  })

  test.each([
    ['..', 'EXDEV', 'EXDEV'],
    ['a/../..', 'EXDEV', 'EXDEV'],
    ['a/../../secret', 'EXDEV', 'EXDEV'],
    ['/', 'EXDEV', 'EXDEV'],
    ['/etc/passwd', 'EXDEV', 'EXDEV'],
    ['out', 'ELOOP', 'EXDEV'],
    ['far-out/passwd', 'ELOOP', 'EXDEV'],
    ['absolute', 'ELOOP', 'EXDEV'],
    ['absolute-inside', 'ELOOP', 'EXDEV'],
    ['magic/etc', 'ELOOP', 'EXDEV'],
    ['circle', 'ELOOP', 'ELOOP'],
    ['dangling', 'ELOOP', 'ENOENT'],
    ['nothing', 'ENOENT', 'ENOENT'],
    ['a/file/x', 'ENOTDIR', 'ENOTDIR'],
    ['', 'ENOENT', 'ENOENT'],
    ['n'.repeat(5000), 'ENAMETOOLONG', 'ENAMETOOLONG'],
    ['a\0/../../secret', 'the path "a\\u0000/../../secret" has a NUL', 'the path "a\\u0000/../../secret" has a NUL'],
  ])('%s is refused', async (at, refused, followed) => {
    expect(await found(at, { flags: O_PLACE })).toBe(refused)
    expect(await found(at, { flags: O_PLACE, links: 'follow' })).toBe(followed)
  })

  test('a link itself can be opened, and a folder only as one', async () => {
    using link = await openBeneath(root.descriptor, 'out', { flags: O_PLACE | O_NOFOLLOW })
    expect(readlinkSync(entryOf(root.descriptor, 'out'))).toBe('../secret')
    expect(statSync(link.path).isSymbolicLink()).toBe(true)
    expect(await found('a/file', { flags: O_FOLDER })).toBe('ENOTDIR')
  })

  test('a descriptor stays with what was opened, whatever happens to the path', async () => {
    using place = await openBeneath(root.descriptor, 'a/file', { flags: O_PLACE })
    rmSync(path.join(scratch, 'root', 'a'), { recursive: true })
    symlinkSync('..', path.join(scratch, 'root', 'a'))
    expect(readFileSync(place.path, 'utf8')).toBe('inside')
    expect(readFileSync(place.pathForOthers, 'utf8')).toBe('inside')
  })

  test('a descriptor is closed once', async () => {
    const first = await openBeneath(root.descriptor, 'a', { flags: O_FOLDER })
    first[Symbol.dispose]()
    using second = await openBeneath(root.descriptor, 'a/file', { flags: O_PLACE })
    expect(second.descriptor).toBe(first.descriptor)
    first[Symbol.dispose]()
    expect(readFileSync(second.path, 'utf8')).toBe('inside')
  })
})

describe('a file beneath a folder', () => {
  test('is read, and is undefined where there is none', async () => {
    const file = await openFileBeneath(root.descriptor, 'inner/file', 'follow')
    expect(await file?.readFile('utf8')).toBe('inside')
    await file?.close()
    expect(await openFileBeneath(root.descriptor, 'nothing')).toBeUndefined()
  })

  test.each(['a', 'pipe'])('%s is no file and is not opened', async (name) => {
    execFileSync('mkfifo', [path.join(scratch, 'root', 'pipe')])
    await expect(openFileBeneath(root.descriptor, name)).rejects.toThrow(`"${name}" is not a file`)
  })
})

test.each(['', '.', '..', 'a/b', '/', 'a\0b'])('%j is no name in a folder', (name) => {
  expect(() => entryOf(3, name)).toThrow('is not the name of a file')
  expect(() => entryOf(3, Buffer.from(name))).toThrow('is not the name of a file')
})
