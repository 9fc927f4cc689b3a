import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { processStartTime } from '../base/process-identity.ts'
import {
  claimServer,
  findServer,
  type Instance,
  instanceOf,
  readSavedConfiguration,
  releaseServer,
  saveConfiguration,
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
])('%o has the context %s', (options, context) => expect(instanceOf(options).context).toBe(context))

test.each(['', 'A', '../etc', 'a/b', '-a', 'a'.repeat(64)])('rejects the name %j', (name) => {
  expect(() => instanceOf({ name })).toThrow('is not a name')
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

test('an entry that is half written is replaced', async () => {
  writeFileSync(join(instance.dataDir, 'server.json'), '{"pid":')
  await claimServer(instance, self())
  expect(await findServer(instance)).toEqual(self())
})

test('of several starters one wins', async () => {
  const outcomes = await Promise.allSettled(Array.from({ length: 8 }, () => claimServer(instance, self())))
  expect(outcomes.filter((outcome) => outcome.status === 'fulfilled')).toHaveLength(1)
})

test('the entry of another live process is not removed', async () => {
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

describe('the saved configuration', () => {
  const path = () => join(instance.dataDir, 'configuration.json')

  test('is empty before the first start, and read back after it', async () => {
    expect(await readSavedConfiguration(instance)).toEqual({})
    await saveConfiguration(instance, { apiPort: 1, store: 'memory', featureGates: ['ClusterTrustBundle'] })
    expect(await readSavedConfiguration(instance)).toEqual({
      apiPort: 1,
      store: 'memory',
      featureGates: ['ClusterTrustBundle'],
    })
  })

  test('is a document that a user can read', async () => {
    await saveConfiguration(instance, { nodes: 3 })
    expect(JSON.parse(readFileSync(path(), 'utf8'))).toEqual({
      apiVersion: 'sampan.dev/v1alpha1',
      kind: 'ClusterConfiguration',
      nodes: 3,
    })
  })

  test('is refused with its path and field if it was changed to something wrong', async () => {
    writeFileSync(
      path(),
      JSON.stringify({ apiVersion: 'sampan.dev/v1alpha1', kind: 'ClusterConfiguration', nodes: -1 }),
    )
    await expect(readSavedConfiguration(instance)).rejects.toMatchObject({
      message: expect.stringContaining(path()),
      hints: [expect.stringContaining('nodes: must be a whole number')],
    })
  })
})
