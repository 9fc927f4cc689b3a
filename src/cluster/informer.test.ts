import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { KubernetesObject } from '../api/meta/object.ts'
import { systemClock } from '../base/clock.ts'
import { silentLogger } from '../base/log.ts'
import { systemRandom } from '../base/random.ts'
import { createHttpTransport } from '../client/http-transport.ts'
import { type Informer, startInformer } from '../client/informer.ts'
import { loadCertificates } from './certificates.ts'
import { type Cluster, startCluster } from './start-cluster.ts'

const RESOURCE = { group: '', version: 'v1', plural: 'configmaps', namespaced: true }
const map = (name: string): KubernetesObject => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } })
let cluster: Cluster
let informer: Informer

beforeEach(async () => {
  cluster = await startCluster({ listen: false })
})
afterEach(async () => {
  await informer[Symbol.asyncDispose]()
  await cluster[Symbol.asyncDispose]()
})

test.each([false, true])('follows the API server (list as a stream: %s)', async (watchList) => {
  const maps = cluster.client.resource(RESOURCE).namespace('default')
  await maps.create(map('before'))
  const { transport } = cluster
  informer = startInformer({
    transport,
    resource: RESOURCE,
    clock: systemClock,
    random: systemRandom,
    log: silentLogger,
    watchList,
  })
  await informer.synced
  const names = () => informer.list().map((object) => object.metadata.name)
  expect(names()).toContain('before')
  await maps.create(map('after'))
  await maps.delete('before')
  await expect.poll(names).not.toContain('before')
  expect(names()).toContain('after')
  // The same object that the server holds, not a copy.
  expect(informer.get('default/after')).toBe(await maps.get('after'))
})

test('survives a server that comes back with other contents and an older revision', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'sampan-informer-'))
  const start = (port: number) => startCluster({ dataDir, listen: { port } })
  await cluster[Symbol.asyncDispose]()
  cluster = await start(0)
  const maps = () => cluster.client.resource(RESOURCE).namespace('default')
  for (let i = 0; i < 50; i++) await maps().create(map(`old-${i}`))
  const { ca, admin } = await loadCertificates({ dir: join(dataDir, 'pki'), clock: systemClock, serverNames: [] })
  const transport = createHttpTransport({ server: cluster.url!, clock: systemClock, ca: ca.cert, ...admin })
  informer = startInformer({
    transport,
    resource: RESOURCE,
    clock: systemClock,
    random: systemRandom,
    log: silentLogger,
    labelSelector: '!ignored',
  })
  await informer.synced
  expect(informer.list().length).toBeGreaterThanOrEqual(50)

  const port = Number(new URL(cluster.url!).port)
  await cluster[Symbol.asyncDispose]()
  cluster = await start(port)
  await maps().create(map('new'))
  const names = () => informer.list().map((object) => object.metadata.name)
  await expect.poll(names, { timeout: 20_000 }).toContain('new')
  expect(names().filter((name) => name!.startsWith('old-'))).toEqual([])
  await transport[Symbol.asyncDispose]()
  rmSync(dataDir, { recursive: true })
})
