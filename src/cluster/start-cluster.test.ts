import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { KubernetesObject } from '../api/meta/object.ts'
import { systemClock } from '../base/clock.ts'
import { createHttpTransport } from '../client/http-transport.ts'
import { transportContract } from '../client/transport.contract.ts'
import { type Cluster, startCluster } from './start-cluster.ts'
import { parseStoreChoice } from './store-choice.ts'

const CONFIG_MAPS = { group: '', version: 'v1', plural: 'configmaps', namespaced: true }
const NAMESPACES = { group: '', version: 'v1', plural: 'namespaces', namespaced: false }

async function withDefaultNamespace(cluster: Cluster) {
  await cluster.client.resource(NAMESPACES).get('default')
}

function connect(cluster: Cluster) {
  const field = (name: string) =>
    Buffer.from(new RegExp(`${name}: (\\S+)`).exec(cluster.kubeconfig)![1]!, 'base64').toString()
  return createHttpTransport({
    server: cluster.url!,
    clock: systemClock,
    ca: field('certificate-authority-data'),
    cert: field('client-certificate-data'),
    key: field('client-key-data'),
  })
}

transportContract('in process', async () => {
  const cluster = await startCluster({ listen: false })
  await withDefaultNamespace(cluster)
  return { transport: cluster.transport, [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose]() }
})

transportContract('HTTP to the API server', async () => {
  const cluster = await startCluster()
  await withDefaultNamespace(cluster)
  const transport = connect(cluster)
  return {
    transport,
    async [Symbol.asyncDispose]() {
      await transport[Symbol.asyncDispose]()
      await cluster[Symbol.asyncDispose]()
    },
  }
})

describe('a cluster with a data directory', () => {
  let dataDir: string
  beforeAll(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'sampan-cluster-'))
  })
  afterAll(() => rmSync(dataDir, { recursive: true, force: true }))

  test('keeps its objects and its trust over a restart', async () => {
    const start = () => startCluster({ store: { type: 'embedded' }, dataDir })
    const first = await start()
    const map: KubernetesObject = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'kept', namespace: 'default' },
    }
    const created = await first.client.resource(CONFIG_MAPS).create(map)
    const trust = first.kubeconfig.replace(/server: .*/, '')
    await first[Symbol.asyncDispose]()
    const second = await start()
    try {
      expect(await second.client.resource(CONFIG_MAPS).namespace('default').get('kept')).toEqual(created)
      expect(second.kubeconfig.replace(/server: .*/, '')).toBe(trust)
    } finally {
      await second[Symbol.asyncDispose]()
    }
  })

  test('an unknown user may do nothing', async () => {
    const cluster = await startCluster({ listen: false })
    const stranger = cluster.transportFor({ name: 'stranger', groups: ['system:authenticated'] })
    await expect(stranger.call({ verb: 'list', resource: NAMESPACES })).rejects.toMatchObject({ code: 403 })
    await cluster[Symbol.asyncDispose]()
  })

  test('a taken port is refused and leaves nothing open', async () => {
    const first = await startCluster()
    const port = Number(new URL(first.url!).port)
    await expect(startCluster({ listen: { port } })).rejects.toMatchObject({ code: 'EADDRINUSE' })
    await first[Symbol.asyncDispose]()
    const second = await startCluster({ listen: { port } })
    await second[Symbol.asyncDispose]()
  })
})

test.each([
  ['memory', { type: 'memory' }],
  ['embedded', { type: 'embedded' }],
  ['etcd://a:1', { type: 'etcd', endpoints: ['http://a:1'] }],
  ['etcds://a:1,[::1]:2379/', { type: 'etcd', endpoints: ['https://a:1', 'https://[::1]:2379'] }],
])('store %s', (text, choice) => expect(parseStoreChoice(text)).toEqual(choice))

test.each(['', 'sqlite', 'etcd://', 'etcd://a', 'etcd://a:b', 'etcd://a:1,,b:2'])('no store: %s', (text) => {
  expect(() => parseStoreChoice(text)).toThrow(/is no/)
})
