import { chmodSync, lstatSync, mkdirSync, mkdtempSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openSubPath, readVolumeFile } from './sub-path.ts'

let scratch: string
let volume: string
beforeEach(() => {
  scratch = mkdtempSync(path.join(tmpdir(), 'sub-path-'))
  volume = path.join(scratch, 'volume')
  mkdirSync(path.join(volume, 'inside'), { recursive: true })
  mkdirSync(path.join(scratch, 'outside'))
  chmodSync(volume, 0o777)
  writeFileSync(path.join(volume, 'inside', 'file'), 'text')
  writeFileSync(path.join(scratch, 'outside', 'file'), 'secret')
  const links = {
    link: 'inside',
    'inside/back': '../inside',
    escape: '../outside',
    absolute: '/etc',
    own: path.join(volume, 'inside'),
    dangling: 'nowhere',
    'file-link': 'inside/file',
  }
  for (const [name, text] of Object.entries(links)) symlinkSync(text, path.join(volume, name))
})
afterEach(() => rmSync(scratch, { recursive: true, force: true }))

async function opened(subPath: string): Promise<string> {
  using part = await openSubPath(volume, subPath)
  return path.relative(volume, readlinkSync(part.path))
}

describe('a subPath', () => {
  test.each([
    ['inside', 'inside'],
    ['inside/', 'inside'],
    ['./inside/./file', 'inside/file'],
    ['.', ''],
    ['link/file', 'inside/file'],
    ['link/back/back/file', 'inside/file'],
    ['file-link', 'inside/file'],
    ['own/file', 'inside/file'],
    ['new', 'new'],
    ['new/and/deep', 'new/and/deep'],
    ['link/new', 'inside/new'],
    ['own/new', 'inside/new'],
    ['..data', '..data'],
  ])('%s is %s of the volume', async (subPath, place) => {
    expect(await opened(subPath)).toBe(place)
    expect(await opened(subPath)).toBe(place)
  })

  test.each([
    ['escape', 'not within volume path'],
    ['escape/file', 'not within volume path'],
    ['escape/new', 'not within volume path|ENOENT'],
    ['absolute/new', 'not within volume path|ENOENT'],
    ['..', 'not within volume path'],
    ['inside/../../outside', 'not within volume path'],
    ['dangling', 'ELOOP|ENOENT'],
    ['dangling/new', 'ELOOP|ENOENT'],
    ['inside/file/new', 'ENOTDIR'],
  ])('%s is refused', async (subPath, message) => {
    await expect(opened(subPath)).rejects.toThrow(new RegExp(message))
    expect(() => lstatSync(path.join(scratch, 'outside', 'new'))).toThrow('ENOENT')
  })

  test('new folders have the mode of the volume, and those that are there keep theirs', async () => {
    chmodSync(path.join(volume, 'inside'), 0o750)
    await opened('inside/one/two')
    const mode = (place: string) => lstatSync(path.join(volume, place)).mode & 0o7777
    expect([mode('inside'), mode('inside/one'), mode('inside/one/two')]).toEqual([0o750, 0o777, 0o777])
  })
})

describe('a file of a volume', () => {
  test.each([
    ['inside/file', 'text'],
    ['link/file', 'text'],
    ['nothing', undefined],
    ['dangling', undefined],
  ])('%s is %s', async (file, text) => {
    expect(await readVolumeFile(volume, file, 4)).toBe(text)
  })

  test.each([
    ['escape/file', 'not within volume path'],
    ['../outside/file', 'not within volume path'],
    ['absolute/passwd', 'not within volume path'],
    ['inside', 'is not a file'],
    ['inside/file/x', 'ENOTDIR'],
  ])('%s is refused', async (file, message) => {
    await expect(readVolumeFile(volume, file, 4)).rejects.toThrow(message)
  })

  test('larger than the limit is refused', async () => {
    await expect(readVolumeFile(volume, 'inside/file', 3)).rejects.toThrow('larger than 3 bytes')
  })
})
