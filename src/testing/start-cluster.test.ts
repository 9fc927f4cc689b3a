import { readdirSync } from 'node:fs'
import { afterEach, describe, expect, it } from 'vitest'
import type { PersistentVolumeClaim, Pod } from '../api/generated/core-v1.ts'
import { nodeKind } from '../api/kinds/core/node/kind.ts'
import { persistentVolumeClaimKind } from '../api/kinds/core/persistent-volume-claim/kind.ts'
import { podKind } from '../api/kinds/core/pod/kind.ts'
import { startCluster, type TestCluster, type TestClusterOptions } from './index.ts'

let clusters: TestCluster[] = []
const start = async (options: TestClusterOptions) => {
  const cluster = await startCluster(options)
  clusters.push(cluster)
  return cluster
}
afterEach(async () => {
  await Promise.all(clusters.map((cluster) => cluster.dispose()))
  clusters = []
})

const pod = (name: string, node = 'node-1', more = '') => `
apiVersion: v1
kind: Pod
metadata: { name: ${name}${more} }
spec:
  nodeName: ${node}
  restartPolicy: Never
  tolerations: [{ operator: Exists, effect: NoExecute, tolerationSeconds: 300 }]
  containers: [{ name: c, image: nginx }]
`
const phase = async (cluster: TestCluster, name: string) => (await cluster.find<Pod>(podKind, name))?.status?.phase

describe('startCluster', () => {
  it('runs what is applied', async () => {
    const cluster = await start({ nodes: 2, seed: 1 })
    expect(cluster.nodes).toEqual(['node-1', 'node-2'])
    await cluster.apply(`${pod('a')}---${pod('b', 'node-2')}`)
    await cluster.settled()
    expect([await phase(cluster, 'a'), await phase(cluster, 'b')]).toEqual(['Running', 'Running'])
    expect((await cluster.find<Pod>(podKind, 'a'))?.status?.podIP).toMatch(/^10\.244\.\d+\.2$/)
  })

  it('has a time that a test moves', async () => {
    const cluster = await start({ seed: 1 })
    await cluster.apply(pod('a', 'node-1', ', annotations: { simulated.sampan.dev/exit-after: 1h }'))
    await cluster.settled()
    await cluster.clock.advance('59m')
    expect(await phase(cluster, 'a')).toBe('Running')
    await cluster.clock.advance('1m')
    expect(await phase(cluster, 'a')).toBe('Succeeded')
    await expect(cluster.clock.advance('soon')).rejects.toThrow('"soon" is no duration')
  })

  it('has a time that goes on by itself if there is no seed', async () => {
    const cluster = await start({})
    const before = cluster.clock.now()
    await expect.poll(() => cluster.clock.now()).toBeGreaterThan(before)
  })

  it('is the same for the same seed', async () => {
    const uids = async (seed: number) => {
      const cluster = await start({ nodes: 2, seed })
      await cluster.settled()
      return (await cluster.client.resource(nodeKind).list()).items.map(({ metadata }) => metadata.uid)
    }
    expect(await uids(7)).toEqual(await uids(7))
    expect(await uids(7)).not.toEqual(await uids(8))
  })

  it('loses a node, notices, and gets it back', async () => {
    const cluster = await start({ nodes: 3, seed: 1 })
    await cluster.apply(pod('a', 'node-2'))
    await cluster.settled()
    cluster.kill('node-2')
    await cluster.clock.advance('1m')
    const ready = async () =>
      (await cluster.client.resource(nodeKind).get('node-2')).status?.conditions?.find(({ type }) => type === 'Ready')
        ?.status
    expect(await ready()).toBe('Unknown')
    await cluster.clock.advance('6m')
    expect((await cluster.find<Pod>(podKind, 'a'))?.metadata.deletionTimestamp).toBeDefined()
    await cluster.revive('node-2')
    await cluster.settled()
    expect(await ready()).toBe('True')
    expect(await cluster.find(podKind, 'a')).toBeUndefined()
    expect(() => cluster.kill('nobody')).toThrow('there is no simulated node nobody')
  })

  it('gives a pod the volumes that live as long as it does', async () => {
    const cluster = await start({ nodes: 2, seed: 1 })
    await cluster.apply(`
apiVersion: v1
kind: Pod
metadata: { name: cache }
spec:
  containers: [{ name: c, image: cache, volumeMounts: [{ name: data, mountPath: /data }] }]
  volumes:
    - name: data
      ephemeral:
        volumeClaimTemplate:
          spec: { accessModes: [ReadWriteOnce], resources: { requests: { storage: 1Gi } } }
`)
    await cluster.settled()
    await cluster.clock.advance('10s')
    expect(await phase(cluster, 'cache')).toBe('Running')
    const claim = await cluster.find<PersistentVolumeClaim>(persistentVolumeClaimKind, 'cache-data')
    expect(claim?.status?.phase).toBe('Bound')
    await cluster.client.resource(podKind).namespace('default').delete('cache')
    await cluster.settled()
    await cluster.clock.advance('10s')
    expect(await cluster.find(persistentVolumeClaimKind, 'cache-data')).toBe(undefined)
  })

  it('gives a StatefulSet its volumes, and keeps them for its pods', async () => {
    const cluster = await start({ nodes: 2, seed: 1 })
    await cluster.apply(`
apiVersion: apps/v1
kind: StatefulSet
metadata: { name: db }
spec:
  replicas: 2
  serviceName: db
  selector: { matchLabels: { app: db } }
  template:
    metadata: { labels: { app: db } }
    spec:
      containers: [{ name: c, image: db, volumeMounts: [{ name: data, mountPath: /data }] }]
  volumeClaimTemplates:
    - metadata: { name: data }
      spec: { accessModes: [ReadWriteOnce], resources: { requests: { storage: 1Gi } } }
`)
    await cluster.settled()
    await cluster.clock.advance('10s')
    const claims = (await cluster.client.resource(persistentVolumeClaimKind).list()).items
    expect(claims.map(({ metadata, status }) => `${metadata.name} ${status?.phase}`)).toEqual([
      'data-db-0 Bound',
      'data-db-1 Bound',
    ])
    expect([await phase(cluster, 'db-0'), await phase(cluster, 'db-1')]).toEqual(['Running', 'Running'])
    await cluster.client.resource(persistentVolumeClaimKind).namespace('default').delete('data-db-0')
    await cluster.settled()
    expect((await cluster.find(persistentVolumeClaimKind, 'data-db-0'))?.metadata.finalizers).toEqual([
      'kubernetes.io/pvc-protection',
    ])
  })

  it('refuses what is invalid, with the path of the field', async () => {
    const cluster = await start({ seed: 1 })
    await expect(cluster.apply('apiVersion: v1\nkind: Pod\nmetadata: { name: x }\nspec: {}')).rejects.toThrow(
      'spec.containers',
    )
    await expect(cluster.apply('apiVersion: x/v1\nkind: Widget\nmetadata: { name: x }')).rejects.toThrow(
      'no matches for kind "Widget" in version "x/v1"',
    )
    await expect(cluster.apply('a: [')).rejects.toThrow('not valid YAML')
  })

  it('listens when asked for its kubeconfig, and not before', async () => {
    const cluster = await start({ seed: 1 })
    expect(await cluster.kubeconfig).toContain(`server: ${await cluster.url}`)
    expect(await cluster.url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/)
  })

  it('is one of several, and they know nothing of each other', async () => {
    const [a, b] = await Promise.all([start({ seed: 1 }), start({ seed: 1 })])
    await a!.apply(pod('only-a'))
    await Promise.all([a!.settled(), b!.settled()])
    expect([await phase(a!, 'only-a'), await phase(b!, 'only-a')]).toEqual(['Running', undefined])
  })

  it('leaves no open handle behind', async () => {
    const handles = () => readdirSync('/proc/self/fd').length
    const warm = await startCluster({ seed: 1 })
    await warm.kubeconfig
    await warm.dispose()
    const before = handles()
    for (let i = 0; i < 3; i++) {
      const cluster = await startCluster({ seed: 1 })
      await cluster.kubeconfig
      await cluster.dispose()
    }
    expect(handles()).toBeLessThanOrEqual(before)
  })
})
