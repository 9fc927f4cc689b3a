import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { thisProcess } from '../base/process-claim.ts'
import { holdsOnlyClusterData } from './cluster-down.ts'
import { status } from './cluster-status.ts'
import { claimServer, type Instance } from './instance.ts'
import { controlSocketPath, serveControl } from './processes/control-socket.ts'

const PARTS = [{ name: 'kubelet', state: 'starting', since: 1 }] as const

let instance: Instance
beforeEach(() => {
  instance = { name: 'test', context: 'sampan-test', dataDir: mkdtempSync(join(tmpdir(), 'sampan-status-')) }
})
afterEach(() => rmSync(instance.dataDir, { recursive: true, force: true }))

const claim = () => claimServer(instance, { ...thisProcess(), url: 'https://x', store: 'memory' })

function writeNode(name: string, owner: object, parts: string) {
  const folder = join(instance.dataDir, 'nodes', name)
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'node.json'), JSON.stringify(owner))
  writeFileSync(join(folder, 'parts.json'), parts)
}

it('says that nothing runs', async () => expect(await status(instance)).toEqual({ nodes: [] }))

it('has the parts of a server that answers', async () => {
  await claim()
  const health = { revision: 1, residentBytes: 2, uptimeSeconds: 3, parts: PARTS }
  const control = await serveControl(controlSocketPath(instance.dataDir), {
    snapshot: async () => ({ revision: 1 }),
    status: async () => health,
  })
  expect(await status(instance)).toMatchObject({ server: { url: 'https://x' }, health })
  await control[Symbol.asyncDispose]()
})

it('leaves out the health of a server that does not answer', async () => {
  await claim()
  const found = await status(instance)
  expect(found.server).toMatchObject({ pid: process.pid })
  expect(found.health).toBeUndefined()
})

it('has the parts of nodes whose process runs, also while their file is being written', async () => {
  writeNode('a', thisProcess(), JSON.stringify(PARTS))
  writeNode('b', { ...thisProcess(), startTime: 'another' }, JSON.stringify(PARTS))
  writeNode('c', thisProcess(), '[{"na')
  expect((await status(instance)).nodes).toEqual([
    { name: 'a', pid: process.pid, parts: PARTS },
    { name: 'c', pid: process.pid, parts: [] },
  ])
})

it.each([
  [['pki', 'store', 'configuration.json', 'server.log.1', 'nodes', 'store.before-2026'], true],
  [[], true],
  [['pki', 'holiday.jpg'], false],
  [['configuration.json.bak'], false],
])('a folder with %j can be deleted with the cluster: %s', async (names, expected) => {
  for (const name of names) writeFileSync(join(instance.dataDir, name), '')
  expect(await holdsOnlyClusterData(instance.dataDir)).toBe(expected)
})
