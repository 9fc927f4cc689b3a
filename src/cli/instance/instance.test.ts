import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { processStartTime } from '../../base/process-identity.ts'
import { askControl, controlSocketPath, serveControl } from './control.ts'
import {
  claimServer,
  findServer,
  type Instance,
  instanceOf,
  readSettings,
  releaseServer,
  writeSettings,
} from './instance.ts'

let instance: Instance
beforeEach(() => {
  instance = { name: 'test', context: 'sampan-test', dataDir: mkdtempSync(join(tmpdir(), 'sampan-instance-')) }
})
afterEach(() => rmSync(instance.dataDir, { recursive: true, force: true }))

const self = () => ({ pid: process.pid, startTime: processStartTime(process.pid)!, url: 'https://x', store: 'memory' })

test.each([
  [{}, 'sampan'],
  [{ name: 'default' }, 'sampan'],
  [{ name: 'a-1' }, 'sampan-a-1'],
])('context of %o', (options, context) => expect(instanceOf(options).context).toBe(context))

test.each(['', 'A', '../etc', 'a/b', '-a', 'a'.repeat(64)])('no name: %s', (name) => {
  expect(() => instanceOf({ name })).toThrow('is no name')
})

test('a claimed cluster has one server, and none once released', async () => {
  expect(await findServer(instance)).toBeUndefined()
  await claimServer(instance, self())
  expect(await findServer(instance)).toEqual(self())
  await expect(claimServer(instance, self())).rejects.toThrow(`already served by process ${process.pid}`)
  await releaseServer(instance, process.pid)
  expect(await findServer(instance)).toBeUndefined()
  expect(statSync(instance.dataDir).isDirectory()).toBe(true)
})

test.each([
  ['of a dead process', { ...self(), pid: 999_999_999 }],
  ['of a process that has its pid by chance', { ...self(), startTime: 'another' }],
])('an entry %s is taken over', async (_, stale) => {
  writeFileSync(join(instance.dataDir, 'server.json'), JSON.stringify(stale))
  expect(await findServer(instance)).toBeUndefined()
  await claimServer(instance, self())
  expect(await findServer(instance)).toEqual(self())
})

test('half an entry counts for nothing', async () => {
  writeFileSync(join(instance.dataDir, 'server.json'), '{"pid":')
  await claimServer(instance, self())
  expect(await findServer(instance)).toEqual(self())
})

test('of several starters one wins', async () => {
  const outcomes = await Promise.allSettled(Array.from({ length: 8 }, () => claimServer(instance, self())))
  expect(outcomes.filter((outcome) => outcome.status === 'fulfilled')).toHaveLength(1)
})

test('the entry of a live process of others stays', async () => {
  await claimServer(instance, self())
  await releaseServer(instance, process.pid + 1)
  expect(await findServer(instance)).toBeDefined()
})

test('a process has one start time while it lives', async () => {
  const child = spawn('sleep', ['60'])
  const start = processStartTime(child.pid!)
  expect(start).toBeDefined()
  expect(processStartTime(child.pid!)).toBe(start)
  child.kill()
  await once(child, 'exit')
  expect(processStartTime(child.pid!)).toBeUndefined()
})

test('settings survive; without any there are none', async () => {
  expect(await readSettings(instance)).toEqual({})
  await writeSettings(instance, { apiPort: 1, store: 'memory' })
  expect(await readSettings(instance)).toEqual({ apiPort: 1, store: 'memory' })
})

test.each(['', `${'d'.repeat(60)}/${'e'.repeat(60)}`])('control socket below "%s"', async (below) => {
  const path = controlSocketPath(join(instance.dataDir, below))
  const served = await serveControl(path, {
    snapshot: async (file) => {
      if (file === '') throw new Error('no file')
      return { revision: file.length }
    },
    status: async () => ({ revision: 1, residentBytes: 2, uptimeSeconds: 3 }),
  })
  expect(await askControl(path, 'snapshot', 'abc')).toEqual({ revision: 3 })
  expect(await askControl(path, 'status')).toMatchObject({ uptimeSeconds: 3 })
  await expect(askControl(path, 'snapshot')).rejects.toThrow('no file')
  await served[Symbol.asyncDispose]()
  expect(existsSync(path)).toBe(false)
  await expect(askControl(path, 'status')).rejects.toThrow()
})
