import { describe, expect } from 'vitest'
import type { Deployment } from '../../src/api/generated/apps-v1.ts'
import type { Kind } from '../../src/api/kind.ts'
import { controllerRevisionKind } from '../../src/api/kinds/apps/controller-revision.ts'
import { daemonSetKind } from '../../src/api/kinds/apps/daemon-set/kind.ts'
import { deploymentKind } from '../../src/api/kinds/apps/deployment/kind.ts'
import { replicaSetKind } from '../../src/api/kinds/apps/replica-set/kind.ts'
import { statefulSetKind } from '../../src/api/kinds/apps/stateful-set/kind.ts'
import { podKind } from '../../src/api/kinds/core/pod/kind.ts'
import { replicationControllerKind } from '../../src/api/kinds/core/replication-controller.ts'
import type { ConformanceBench } from '../tools/conformance.ts'
import { condition, conformanceTest, images, names, ownerOf, pod, template, workload } from '../tools/conformance.ts'

/** What the conformance suite asks of workloads, in our own words; docs/conformance.md says which test is which. */

/** They share all that is looked at here. */
const SCALED = [
  ['ReplicaSet', replicaSetKind],
  ['Deployment', deploymentKind],
  ['StatefulSet', statefulSetKind],
] as unknown as readonly [string, Kind<Deployment>][]

describe.each(SCALED)('%s', (kind, resource) => {
  const object = workload(kind, 'web', { replicas: 2, ...(kind === 'StatefulSet' && { serviceName: 'web' }) })

  conformanceTest('has a scale', async (bench) => {
    await bench.apply(object)
    await bench.settled()
    const scales = bench.of(resource)
    const scale = await scales.subresource('get', 'web', 'scale')
    expect(scale).toMatchObject({ kind: 'Scale', spec: { replicas: 2 }, status: { replicas: 2 } })
    await scales.subresource('update', 'web', 'scale', { ...scale, spec: { replicas: 4 } })
    await bench.settled()
    expect(await bench.pods('app=web')).toHaveLength(4)
    await scales.patch('web', { spec: { replicas: 1 } }, { subresource: 'scale' })
    await bench.settled()
    expect(await bench.pods('app=web')).toHaveLength(1)
    expect((await scales.get('web')).spec?.replicas).toBe(1)
  })

  conformanceTest('lets its status be read and written', async (bench) => {
    await bench.apply(object)
    await bench.settled()
    const current = await bench.of(resource).get('web')
    const conditions = [...(current.status?.conditions ?? []), condition('StatusUpdate')]
    const updated = await bench
      .of(resource)
      .updateStatus({ ...current, status: { ...current.status, conditions } } as never)
    expect(updated.status?.conditions).toContainEqual(expect.objectContaining(condition('StatusUpdate')))
    const patch = { status: { conditions: [condition('StatusPatched')] }, spec: { replicas: 9 } }
    await bench.of(resource).patch('web', patch, { subresource: 'status' })
    const patched = await bench.of(resource).get('web')
    expect(patched.status?.conditions).toContainEqual(expect.objectContaining(condition('StatusPatched')))
    expect(patched.spec?.replicas).toBe(2)
    expect(await bench.of(resource).subresource('get', 'web', 'status')).toMatchObject({ kind })
  })

  conformanceTest('is listed, patched, and goes with all its pods when a collection is deleted', async (bench) => {
    await bench.apply([object, { ...object, metadata: { name: 'kept', labels: { keep: 'yes' } } }])
    await bench.settled()
    const found = await bench.client.resource(resource).list({ labelSelector: 'keep=yes' })
    expect(names(found.items)).toEqual(['kept'])
    const patch = {
      metadata: { labels: { patched: 'yes' } },
      spec: { template: { spec: { containers: [{ name: 'app', image: 'app:2' }] } } },
    }
    const patched = await bench.of(resource).patch('web', patch, { type: 'application/strategic-merge-patch+json' })
    expect(patched.metadata.labels).toMatchObject({ patched: 'yes' })
    expect(patched.spec?.template.spec?.containers).toMatchObject([{ name: 'app', image: 'app:2' }])
    await bench.settled()
    await bench.of(resource).deleteCollection({ propagationPolicy: 'Background' }, { labelSelector: 'keep!=yes' })
    await bench.settled()
    expect(names((await bench.of(resource).list()).items)).toEqual(['kept'])
    await bench.of(resource).deleteCollection({ propagationPolicy: 'Background' })
    await bench.settled()
    expect(await bench.pods()).toEqual([])
  })
})

describe('ReplicaSet', () => {
  conformanceTest('adopts pods that match, and releases those that do not any more', async (bench) => {
    await bench.apply(pod('web'))
    await bench.settled()
    await bench.apply(workload('ReplicaSet', 'web', { replicas: 1 }))
    await bench.settled()
    const [adopted, ...others] = await bench.pods('app=web')
    expect(others).toEqual([])
    expect(ownerOf(adopted!)).toMatchObject({ kind: 'ReplicaSet', name: 'web' })
    await bench.of(podKind).patch('web', { metadata: { labels: { app: 'other' } } })
    await bench.settled()
    expect(ownerOf(await bench.of(podKind).get('web'))).toBeUndefined()
    expect(await bench.pods('app=web')).toHaveLength(1)
  })

  conformanceTest('is scaled and relabelled by patches and replacements', async (bench) => {
    await bench.apply(workload('ReplicaSet', 'web', { replicas: 1 }))
    await bench.settled()
    const patch = { spec: { replicas: 3, template: { spec: { terminationGracePeriodSeconds: 0 } } } }
    await bench.of(replicaSetKind).patch('web', patch)
    await bench.settled()
    expect((await bench.of(replicaSetKind).get('web')).status).toMatchObject({ replicas: 3, readyReplicas: 3 })
    const current = await bench.of(replicaSetKind).get('web')
    await bench.of(replicaSetKind).update({ ...current, spec: { ...current.spec!, replicas: 2 } })
    await bench.settled()
    expect(await bench.pods('app=web')).toHaveLength(2)
  })
})

describe('ReplicationController', () => {
  const controller = (replicas: number) => ({
    apiVersion: 'v1',
    kind: 'ReplicationController',
    metadata: { name: 'web' },
    spec: { replicas, selector: { app: 'web' }, template: template('web') },
  })

  conformanceTest('lives: status, scale, replacement, deletion', async (bench) => {
    await bench.apply(controller(1))
    await bench.settled()
    const controllers = bench.of(replicationControllerKind)
    expect((await controllers.get('web')).status).toMatchObject({ replicas: 1, availableReplicas: 1 })
    await controllers.patch('web', { status: { conditions: [condition('Seen')] } }, { subresource: 'status' })
    expect((await controllers.get('web')).status?.conditions).toMatchObject([condition('Seen')])
    const scale = await controllers.subresource('get', 'web', 'scale')
    await controllers.subresource('update', 'web', 'scale', { ...scale, spec: { replicas: 2 } })
    await bench.settled()
    expect((await controllers.get('web')).status?.readyReplicas).toBe(2)
    await controllers.deleteCollection({ propagationPolicy: 'Background' })
    await bench.settled()
    expect(await bench.pods()).toEqual([])
  })

  conformanceTest('adopts and releases pods', async (bench) => {
    await bench.apply([pod('web'), controller(1)])
    await bench.settled()
    expect(ownerOf((await bench.pods('app=web'))[0]!)).toMatchObject({ kind: 'ReplicationController' })
    await bench.of(podKind).patch('web', { metadata: { labels: { app: 'free' } } })
    await bench.settled()
    expect(ownerOf(await bench.of(podKind).get('web'))).toBeUndefined()
    expect(await bench.pods('app=web')).toHaveLength(1)
  })

  conformanceTest('tells when a quota holds it back, and when it does not any more', async (bench) => {
    const quota = { apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'few' }, spec: { hard: { pods: '2' } } }
    await bench.apply(quota)
    await bench.settled()
    await bench.apply(controller(3))
    await bench.clock.advance('5s')
    const failure = (await bench.of(replicationControllerKind).get('web')).status?.conditions?.[0]
    expect(failure).toMatchObject({ type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate' })
    expect(failure?.message).toContain('exceeded quota: few')
    await bench.of(replicationControllerKind).patch('web', { spec: { replicas: 2 } })
    await bench.settled()
    expect((await bench.of(replicationControllerKind).get('web')).status?.conditions ?? []).toEqual([])
  })
})

describe('Deployment', () => {
  const history = async (bench: ConformanceBench) => (await bench.of(replicaSetKind).list()).items

  conformanceTest('replaces pods step by step, and keeps the old ReplicaSet', async (bench) => {
    await bench.apply(workload('Deployment', 'web', { replicas: 3 }))
    await bench.settled()
    const before = names(await bench.pods())
    await bench.apply(workload('Deployment', 'web', { replicas: 3 }, 'app:2'))
    await bench.settled()
    const after = await bench.pods()
    expect(images(after)).toEqual(['app:2', 'app:2', 'app:2'])
    expect(names(after).filter((name) => before.includes(name))).toEqual([])
    expect((await history(bench)).map(({ spec }) => spec?.replicas).sort()).toEqual([0, 3])
    const { metadata, status } = await bench.of(deploymentKind).get('web')
    expect(metadata.annotations?.['deployment.kubernetes.io/revision']).toBe('2')
    expect(status?.conditions).toContainEqual(expect.objectContaining({ reason: 'NewReplicaSetAvailable' }))
  })

  conformanceTest('adopts a ReplicaSet of the same pods', async (bench) => {
    const orphan = workload('ReplicaSet', 'web', { replicas: 1 })
    await bench.apply({ ...orphan, metadata: { name: 'web', labels: { app: 'web' } } })
    await bench.settled()
    await bench.apply(workload('Deployment', 'web', { replicas: 1 }))
    await bench.settled()
    for (const set of await history(bench)) expect(ownerOf(set)).toMatchObject({ kind: 'Deployment', name: 'web' })
    expect(await bench.pods()).toHaveLength(1)
  })

  conformanceTest('recreates: no new pod beside an old one', async (bench) => {
    const recreate = (image: string) =>
      workload('Deployment', 'web', { replicas: 2, strategy: { type: 'Recreate' } }, image)
    await bench.apply(recreate('app:1'))
    await bench.settled()
    const abort = new AbortController()
    const together: string[] = []
    const alive = new Map<string, string | undefined>()
    const watching = (async () => {
      for await (const batch of bench.of(podKind).watch({ signal: abort.signal }))
        for (const { type, object } of batch) {
          if (type === 'DELETED') alive.delete(object.metadata.name!)
          else alive.set(object.metadata.name!, object.spec?.containers[0]?.image)
          if (new Set(alive.values()).size > 1) together.push(object.metadata.name!)
        }
    })()
    await bench.apply(recreate('app:2'))
    await bench.settled()
    abort.abort()
    await watching.catch(() => {})
    expect(images(await bench.pods())).toEqual(['app:2', 'app:2'])
    expect(together).toEqual([])
  })

  conformanceTest('lives: made, scaled and changed by patch, replaced, listed everywhere, deleted', async (bench) => {
    const deployments = bench.of(deploymentKind)
    const object = workload('Deployment', 'web', { replicas: 1 })
    await bench.apply({ ...object, metadata: { name: 'web', labels: { test: 'life' } } })
    await bench.settled()
    expect((await deployments.get('web')).status).toMatchObject({ replicas: 1, readyReplicas: 1 })
    const patch = {
      metadata: { labels: { patched: 'yes' } },
      spec: { replicas: 2, template: { spec: { terminationGracePeriodSeconds: 1 } } },
    }
    await deployments.patch('web', patch)
    await bench.settled()
    const patched = await deployments.get('web')
    expect(patched.status).toMatchObject({ replicas: 2, readyReplicas: 2, observedGeneration: 2 })
    const everywhere = await bench.client.resource(deploymentKind).list({ labelSelector: 'test=life,patched=yes' })
    expect(names(everywhere.items)).toEqual(['web'])
    const { template } = patched.spec!
    const containers = [{ name: 'app', image: 'app:2' }]
    const spec = { ...patched.spec!, template: { ...template, spec: { ...template.spec, containers } } }
    await deployments.update({ ...patched, spec })
    await bench.settled()
    expect(images(await bench.pods())).toEqual(['app:2', 'app:2'])
    expect(await deployments.subresource('get', 'web', 'status')).toMatchObject({ status: { updatedReplicas: 2 } })
    await deployments.deleteCollection({ propagationPolicy: 'Background' }, { labelSelector: 'test=life' })
    await bench.settled()
    expect([await bench.pods(), await history(bench)]).toEqual([[], []])
  })

  conformanceTest(
    'is scaled in proportion while a rollout is stuck',
    async (bench) => {
      const strategy = { rollingUpdate: { maxSurge: 3, maxUnavailable: 2 } }
      await bench.apply(workload('Deployment', 'web', { replicas: 10, strategy }))
      await bench.settled()
      await bench.of(deploymentKind).patch('web', { spec: { template: template('web', 'app:404') } })
      await bench.clock.advance('1m')
      const sizes = async () =>
        (await history(bench))
          .map(({ spec, status }) => [spec?.replicas ?? 0, status?.availableReplicas ?? 0])
          .sort(([a], [b]) => b! - a!)
      expect(await sizes()).toEqual([
        [8, 8],
        [5, 0],
      ])
      await bench.of(deploymentKind).patch('web', { spec: { replicas: 30 } })
      await bench.clock.advance('1m')
      expect((await sizes()).map(([wanted]) => wanted)).toEqual([20, 13])
    },
    {
      nodes: Array.from({ length: 2 }, (_, i) => ({
        name: `node-${i + 1}`,
        capacity: { pods: '110', cpu: '8', memory: '32Gi' },
      })),
    },
  )

  conformanceTest('forgets revisions beyond its limit', async (bench) => {
    for (const image of ['app:1', 'app:2', 'app:3']) {
      await bench.apply(workload('Deployment', 'web', { replicas: 1, revisionHistoryLimit: 0 }, image))
      await bench.settled()
    }
    expect((await history(bench)).map(({ spec }) => spec?.replicas)).toEqual([1])
  })
})

describe('StatefulSet', () => {
  conformanceTest('updates a canary, then in phases, then all', async (bench) => {
    const set = (image: string, partition: number) =>
      workload(
        'StatefulSet',
        'db',
        { replicas: 3, serviceName: 'db', updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition } } },
        image,
      )
    await bench.apply(set('app:1', 3))
    await bench.settled()
    const revision = (await bench.of(statefulSetKind).get('db')).status?.currentRevision
    await bench.apply(set('app:2', 3))
    await bench.settled()
    expect(images(await bench.pods())).toEqual(['app:1', 'app:1', 'app:1'])
    expect((await bench.of(statefulSetKind).get('db')).status?.updateRevision).not.toBe(revision)
    await bench.apply(set('app:2', 2))
    await bench.settled()
    expect(images(await bench.pods())).toEqual(['app:1', 'app:1', 'app:2'])
    // A pod below the partition comes back as it was, one above it as it is to be.
    for (const name of ['db-0', 'db-2']) await bench.of(podKind).delete(name)
    await bench.settled()
    expect(images(await bench.pods())).toEqual(['app:1', 'app:1', 'app:2'])
    for (const partition of [1, 0]) {
      await bench.apply(set('app:2', partition))
      await bench.settled()
    }
    expect(images(await bench.pods())).toEqual(['app:2', 'app:2', 'app:2'])
    const { status } = await bench.of(statefulSetKind).get('db')
    expect(status?.currentRevision).toBe(status?.updateRevision)
  })
})

describe('DaemonSet', () => {
  const nodesOf = async (bench: ConformanceBench) =>
    (await bench.pods('app=agent')).map(({ spec }) => spec?.nodeName).sort()

  conformanceTest('runs on every node, revives pods, and goes with them', async (bench) => {
    await bench.apply(workload('DaemonSet', 'agent'))
    await bench.settled()
    expect(await nodesOf(bench)).toEqual(['node-1', 'node-2'])
    const [first] = await bench.pods()
    await bench.of(podKind).delete(first!.metadata.name!)
    await bench.settled()
    expect(await nodesOf(bench)).toEqual(['node-1', 'node-2'])
    await bench.of(daemonSetKind).deleteCollection({ propagationPolicy: 'Background' })
    await bench.settled()
    expect(await bench.pods()).toEqual([])
  })

  conformanceTest('follows the labels of nodes', async (bench) => {
    const { nodeKind } = await import('../../src/api/kinds/core/node/kind.ts')
    const spec = (color: string) => ({ template: template('agent', 'app:1', { nodeSelector: { color } }) })
    await bench.apply(workload('DaemonSet', 'agent', spec('blue')))
    await bench.settled()
    expect(await nodesOf(bench)).toEqual([])
    await bench.client.resource(nodeKind).patch('node-1', { metadata: { labels: { color: 'blue' } } })
    await bench.settled()
    expect(await nodesOf(bench)).toEqual(['node-1'])
    await bench.client.resource(nodeKind).patch('node-1', { metadata: { labels: { color: 'green' } } })
    await bench.settled()
    expect(await nodesOf(bench)).toEqual([])
    await bench.apply(workload('DaemonSet', 'agent', spec('green')))
    await bench.settled()
    expect(await nodesOf(bench)).toEqual(['node-1'])
  })

  conformanceTest('replaces pods that failed', async (bench) => {
    await bench.apply(workload('DaemonSet', 'agent'))
    await bench.settled()
    const [victim] = await bench.pods()
    const { name = '' } = victim!.metadata
    await bench.of(podKind).patch(name, { status: { phase: 'Failed' } }, { subresource: 'status' })
    await bench.clock.advance('5s')
    expect(names(await bench.pods())).not.toContain(name)
    expect(await nodesOf(bench)).toEqual(['node-1', 'node-2'])
  })

  conformanceTest('rolls out a new template, with revisions that can be kept, changed and deleted', async (bench) => {
    await bench.apply(workload('DaemonSet', 'agent'))
    await bench.settled()
    const [revision] = (await bench.of(controllerRevisionKind).list({ labelSelector: 'app=agent' })).items
    expect(ownerOf(revision!)).toMatchObject({ kind: 'DaemonSet', name: 'agent' })
    expect(revision?.revision).toBe(1)
    await bench.apply(workload('DaemonSet', 'agent', {}, 'app:2'))
    await bench.settled()
    expect(images(await bench.pods())).toEqual(['app:2', 'app:2'])
    const revisions = (await bench.of(controllerRevisionKind).list()).items.map((one) => one.revision).sort()
    expect(revisions).toEqual([1, 2])
    await bench.of(controllerRevisionKind).patch(revision!.metadata.name!, { metadata: { labels: { seen: 'yes' } } })
    await bench.of(controllerRevisionKind).deleteCollection({}, { labelSelector: 'seen=yes' })
    await bench.settled()
    expect((await bench.of(controllerRevisionKind).list()).items.map((one) => one.revision)).toEqual([2])
  })

  conformanceTest('lets its status be written', async (bench) => {
    await bench.apply(workload('DaemonSet', 'agent'))
    await bench.settled()
    const current = await bench.of(daemonSetKind).get('agent')
    const status = { ...current.status!, conditions: [condition('Updated')] }
    const updated = await bench.of(daemonSetKind).updateStatus({ ...current, status })
    expect(updated.status?.conditions).toMatchObject([condition('Updated')])
    const patch = { status: { conditions: [condition('Patched')] } }
    await bench.of(daemonSetKind).patch('agent', patch, { subresource: 'status' })
    expect((await bench.of(daemonSetKind).get('agent')).status?.conditions).toMatchObject([condition('Patched')])
    expect(await bench.of(daemonSetKind).subresource('get', 'agent', 'status')).toMatchObject({ kind: 'DaemonSet' })
  })

  conformanceTest('rolls back without touching pods that were not changed', async (bench) => {
    await bench.apply(workload('DaemonSet', 'agent'))
    await bench.settled()
    const before = await bench.pods()
    await bench.of(daemonSetKind).patch('agent', { spec: { template: template('agent', 'foo:non-existent') } })
    await bench.clock.advance('1m')
    const during = await bench.pods()
    expect(images(during).sort()).toEqual(['app:1', 'foo:non-existent'])
    const untouched = during.find(({ spec }) => spec?.containers[0]?.image === 'app:1')!
    await bench.of(daemonSetKind).patch('agent', { spec: { template: template('agent') } })
    await bench.clock.advance('1m')
    const after = await bench.pods()
    expect(images(after)).toEqual(['app:1', 'app:1'])
    const kept = after.filter(({ metadata }) => before.some((one) => one.metadata.uid === metadata.uid))
    expect(kept.map(({ metadata }) => metadata.uid)).toEqual([untouched.metadata.uid])
  })
})
