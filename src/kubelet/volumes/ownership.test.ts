import { lstatSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Folder } from '../../linux/folder.ts'
import { rootMatches, setGroup } from './ownership.ts'

let scratch: string
let volume: string
const group = process.getgid!()
beforeEach(() => {
  scratch = mkdtempSync(path.join(tmpdir(), 'ownership-'))
  volume = path.join(scratch, 'volume')
  mkdirSync(path.join(volume, 'inner'), { recursive: true, mode: 0o700 })
  writeFileSync(path.join(volume, 'inner', 'file'), '', { mode: 0o600 })
  writeFileSync(Buffer.concat([Buffer.from(`${volume}/`), Buffer.from([0xff])]), '', { mode: 0o600 })
  writeFileSync(path.join(scratch, 'outside'), '', { mode: 0o600 })
  symlinkSync('../outside', path.join(volume, 'link'))
  symlinkSync('..', path.join(volume, 'inner', 'up'))
})
afterEach(() => rmSync(scratch, { recursive: true, force: true }))

const mode = (file: string | Buffer) => lstatSync(file).mode & 0o7777

test.each([
  [false, 0o2770, 0o660],
  [true, 0o2750, 0o640],
])('a volume that is read-only: %s', async (isReadOnly, ofFolder, ofFile) => {
  expect(await rootMatches(volume, group, isReadOnly)).toBe(false)
  await setGroup(volume, group, isReadOnly)
  expect([mode(volume), mode(path.join(volume, 'inner'))]).toEqual([ofFolder, ofFolder])
  expect(mode(path.join(volume, 'inner', 'file'))).toBe(ofFile)
  expect(mode(Buffer.concat([Buffer.from(`${volume}/`), Buffer.from([0xff])]))).toBe(ofFile)
  expect([mode(scratch), mode(path.join(scratch, 'outside'))]).toEqual([0o700, 0o600])
  expect(await rootMatches(volume, group, isReadOnly)).toBe(true)
})

test('a deep volume', async () => {
  let folder = Folder.open(volume)
  for (let i = 0; i < 700; i++) {
    using outer = folder
    outer.makeFolder('d', 0o700)
    folder = outer.folder('d')
  }
  await setGroup(volume, group, false)
  using deepest = folder
  expect(deepest.ownStat().mode & 0o7777).toBe(0o2770)
})
