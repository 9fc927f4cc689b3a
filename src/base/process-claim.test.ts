import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { claim, findOwner, release, thisProcess } from './process-claim.ts'

let folder: string
let path: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sampan-claim-'))
  path = join(folder, 'node.json')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const own = thisProcess()
const deadPid = () => spawnSync('true').pid
const write = (name: string, content: unknown) => writeFileSync(join(folder, name), JSON.stringify(content))

test('one process has it, until it lets go', async () => {
  expect(await claim(path, own)).toBeUndefined()
  expect(await claim(path, own)).toEqual(own)
  expect(readdirSync(folder)).toEqual(['node.json'])
  await release(path, own.pid)
  expect(await findOwner(path)).toBeUndefined()
})

test('the claim of a dead process counts for nothing', async () => {
  write('node.json', { pid: deadPid(), startTime: 'x' })
  expect(await claim(path, own)).toBeUndefined()
  expect(await findOwner(path)).toEqual(own)
  expect(readdirSync(folder)).toEqual(['node.json'])
})

test('what claimants left that died in the middle goes; files of others stay', async () => {
  const dead = deadPid()
  write(`node.json.${dead}`, {})
  write(`node.json.old.${dead}`, {})
  const others = [`node.json.${own.pid}x`, 'node.json.log', `other.json.${dead}`]
  for (const name of others) write(name, {})
  await claim(path, own)
  expect(readdirSync(folder).sort()).toEqual(['node.json', ...others].sort())
})

test('a live claim that a dead claimant had set aside goes back to its place', async () => {
  write(`node.json.old.${deadPid()}`, own)
  expect(await claim(path, { pid: 1, startTime: 'other' })).toEqual(own)
  expect(readdirSync(folder)).toEqual(['node.json'])
})
