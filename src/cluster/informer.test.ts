import { afterEach, beforeEach, expect, test } from 'vitest'
import type { KubernetesObject } from '../api/meta/object.ts'
import { systemClock } from '../base/clock.ts'
import { silentLogger } from '../base/log.ts'
import { systemRandom } from '../base/random.ts'
import { type Informer, startInformer } from '../client/informer.ts'
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
