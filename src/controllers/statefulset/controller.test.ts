import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { StatefulSet } from '../../api/generated/apps-v1.ts'
import type { Pod } from '../../api/generated/core-v1.ts'
import { controllerRevisionKind } from '../../api/kinds/apps/controller-revision.ts'
import { statefulSetKind } from '../../api/kinds/apps/stateful-set/kind.ts'
import { persistentVolumeClaimKind } from '../../api/kinds/core/persistent-volume-claim/kind.ts'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import { startWorkbench, template, type Workbench } from '../../testing/workbench.ts'
import { canonicalJson } from '../controller-revision/template-hash.ts'
import { statefulSetController } from './controller.ts'

let bench: Workbench
beforeEach(async () => {
  bench = await startWorkbench([statefulSetController])
})
afterEach(() => bench[Symbol.asyncDispose]())

const labels = { app: 'db' }
const create = (spec: Partial<StatefulSet['spec']> = {}) =>
  bench.resource(statefulSetKind).create({
    metadata: { name: 'db' },
    spec: {
      replicas: 3,
      serviceName: 'db',
      selector: { matchLabels: labels },
      template: template(labels, 'app:1', 'node-1'),
      ...spec,
    },
  })
const change = (spec: object) => bench.resource(statefulSetKind).patch('db', { spec })
const setImage = (image: string) => change({ template: { spec: { containers: [{ name: 'app', image }] } } })
const get = () => bench.resource(statefulSetKind).get('db')
const names = async () => (await bench.pods()).map((pod) => pod.metadata.name)
const imageOf = (pod: Pod) => pod.spec!.containers[0]!.image
const images = async () => (await bench.pods()).map(imageOf)
const terminating = async () =>
  (await bench.pods()).filter((pod) => pod.metadata.deletionTimestamp).map((pod) => pod.metadata.name)
const claims = async () => (await bench.resource(persistentVolumeClaimKind).list()).items
const data = {
  volumeClaimTemplates: [
    {
      metadata: { name: 'data' },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
    },
  ],
}

describe('in order', () => {
  it('creates each pod when the one before is ready, with an identity of its own', async () => {
    await create()
    await bench.settle()
    expect(await names()).toEqual(['db-0'])
    const [pod] = await bench.pods()
    const { updateRevision } = (await get()).status!
    expect(pod!.metadata).toMatchObject({
      generateName: 'db-',
      labels: {
        app: 'db',
        'statefulset.kubernetes.io/pod-name': 'db-0',
        'apps.kubernetes.io/pod-index': '0',
        'controller-revision-hash': updateRevision,
      },
    })
    expect(pod!.spec).toMatchObject({ hostname: 'db-0', subdomain: 'db' })
    expect(bench.plane.events).toContain('SuccessfulCreate: create Pod db-0 in StatefulSet db successful')

    await bench.makeReady()
    expect(await names()).toEqual(['db-0', 'db-1'])
    await bench.runPods()
    expect(await names()).toEqual(['db-0', 'db-1', 'db-2'])
    expect((await get()).status).toEqual({
      observedGeneration: 1,
      replicas: 3,
      readyReplicas: 3,
      availableReplicas: 3,
      currentReplicas: 3,
      updatedReplicas: 3,
      currentRevision: updateRevision,
      updateRevision,
      collisionCount: 0,
    })
  })

  it('scales down from the highest ordinal, one after the other', async () => {
    await create()
    await bench.runPods()
    await change({ replicas: 1 })
    await bench.settle()
    expect(await terminating()).toEqual(['db-2'])
    await bench.finishTerminating()
    expect(await terminating()).toEqual(['db-1'])
    await bench.finishTerminating()
    expect(await names()).toEqual(['db-0'])
    expect(bench.plane.events).toContain('SuccessfulDelete: delete Pod db-2 in StatefulSet db successful')
  })

  it('does not scale down while a lower pod is unhealthy', async () => {
    await create()
    await bench.runPods()
    await bench.makeUnready((await bench.pods()).slice(0, 1))
    await change({ replicas: 2 })
    await bench.settle()
    expect(await terminating()).toEqual([])
    await bench.makeReady()
    expect(await terminating()).toEqual(['db-2'])
  })

  it('replaces a pod that ended, under the same name', async () => {
    await create({ replicas: 1 })
    await bench.runPods()
    const [before] = await bench.pods()
    await bench.setStatus(before!, { phase: 'Failed' })
    await bench.settle()
    await bench.finishTerminating()
    const [after] = await bench.pods()
    expect(after!.metadata.name).toBe('db-0')
    expect(after!.metadata.uid).not.toBe(before!.metadata.uid)
  })

  it('waits minReadySeconds before the next one', async () => {
    await create({ replicas: 2, minReadySeconds: 20 })
    await bench.settle()
    await bench.makeReady()
    expect(await names()).toEqual(['db-0'])
    expect((await get()).status).toMatchObject({ readyReplicas: 1, availableReplicas: 0 })
    await bench.advance(21_000)
    expect(await names()).toEqual(['db-0', 'db-1'])
  })

  it('counts from the start that it is given', async () => {
    await create({ replicas: 2, ordinals: { start: 5 } })
    await bench.runPods()
    expect(await names()).toEqual(['db-5', 'db-6'])
    await change({ ordinals: { start: 6 } })
    await bench.runPods()
    expect(await names()).toEqual(['db-6', 'db-7'])
  })

  it('adopts an orphan of its name and leaves others', async () => {
    const { spec } = template(labels, 'app:1', 'node-1')
    await bench.resource(podKind).create({ metadata: { name: 'db-0', labels }, spec })
    await bench.resource(podKind).create({ metadata: { name: 'stranger', labels }, spec })
    await create({ replicas: 1 })
    await bench.runPods()
    const pods = await bench.pods()
    expect(pods.map((pod) => pod.metadata.ownerReferences?.[0]?.name)).toEqual(['db', undefined])
  })
})

describe('in parallel', () => {
  it('creates and deletes all at once', async () => {
    await create({ podManagementPolicy: 'Parallel' })
    await bench.settle()
    expect(await names()).toEqual(['db-0', 'db-1', 'db-2'])
    await change({ replicas: 0 })
    await bench.settle()
    expect(await terminating()).toEqual(['db-0', 'db-1', 'db-2'])
  })
})

describe('an update', () => {
  it('goes from the highest ordinal down, each when the one before is ready', async () => {
    await create()
    await bench.runPods()
    const before = (await get()).status!.currentRevision
    await setImage('app:2')
    await bench.settle()
    expect(await terminating()).toEqual(['db-2'])
    await bench.finishTerminating()
    expect(await images()).toEqual(['app:1', 'app:1', 'app:2'])
    expect(await terminating()).toEqual([])
    expect((await get()).status).toMatchObject({ currentRevision: before, currentReplicas: 2, updatedReplicas: 1 })
    await bench.makeReady()
    expect(await terminating()).toEqual(['db-1'])
    await bench.runPods()
    expect(await images()).toEqual(['app:2', 'app:2', 'app:2'])
    const { currentRevision, updateRevision } = (await get()).status!
    expect(currentRevision).toBe(updateRevision)
    expect(currentRevision).not.toBe(before)
  })

  it('stops at the partition, below which deleted pods come back as they were', async () => {
    await create({ updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 2 } } })
    await bench.runPods()
    await setImage('app:2')
    await bench.runPods()
    expect(await images()).toEqual(['app:1', 'app:1', 'app:2'])
    await bench.resource(podKind).delete('db-0')
    await bench.runPods()
    expect(await images()).toEqual(['app:1', 'app:1', 'app:2'])
    await change({ updateStrategy: { rollingUpdate: { partition: 0 } } })
    await bench.runPods()
    expect(await images()).toEqual(['app:2', 'app:2', 'app:2'])
  })

  it('with OnDelete waits for the user', async () => {
    await create({ updateStrategy: { type: 'OnDelete' } })
    await bench.runPods()
    await setImage('app:2')
    await bench.runPods()
    expect(await images()).toEqual(['app:1', 'app:1', 'app:1'])
    await bench.resource(podKind).delete('db-1')
    await bench.runPods()
    expect(await images()).toEqual(['app:1', 'app:2', 'app:1'])
  })

  it('is remembered, rolled back under its old revision, and forgotten beyond the limit', async () => {
    await create({ replicas: 1, revisionHistoryLimit: 1 })
    await bench.runPods()
    for (const image of ['app:2', 'app:3', 'app:4']) {
      await setImage(image)
      await bench.runPods()
    }
    const list = async () =>
      (await bench.resource(controllerRevisionKind).list()).items.sort((a, b) => a.revision - b.revision)
    const [third, fourth] = await list()
    expect(await list()).toHaveLength(2)
    expect(fourth).toMatchObject({ revision: 4, data: { spec: { template: { $patch: 'replace' } } } })
    // Clients in Go compare these bytes with those they would write.
    expect(JSON.stringify(fourth!.data)).toBe(canonicalJson(fourth!.data))
    await bench.resource(statefulSetKind).patch('db', third!.data, { type: 'application/strategic-merge-patch+json' })
    await bench.runPods()
    expect(await images()).toEqual(['app:3'])
    expect((await list()).map((one) => [one.metadata.name, one.revision])).toEqual([
      [fourth!.metadata.name, 4],
      [third!.metadata.name, 5],
    ])
  })
})

describe('claims', () => {
  it('are made for each pod and stay when it goes', async () => {
    await create({ ...data, replicas: 2 })
    await bench.runPods()
    expect((await claims()).map(({ metadata }) => [metadata.name, metadata.labels])).toEqual([
      ['data-db-0', labels],
      ['data-db-1', labels],
    ])
    expect((await bench.pods())[1]!.spec?.volumes).toEqual([
      { name: 'data', persistentVolumeClaim: { claimName: 'data-db-1' } },
    ])
    await change({ replicas: 1 })
    await bench.runPods()
    expect(await claims()).toHaveLength(2)
    expect(bench.plane.events).toContain('SuccessfulCreate: create Claim data-db-0 Pod db-0 in StatefulSet db success')
  })

  it.each([
    { whenScaled: 'Retain', whenDeleted: 'Retain', wanted: [], condemned: [] },
    { whenScaled: 'Retain', whenDeleted: 'Delete', wanted: ['StatefulSet'], condemned: ['StatefulSet'] },
    { whenScaled: 'Delete', whenDeleted: 'Retain', wanted: [], condemned: ['Pod'] },
    { whenScaled: 'Delete', whenDeleted: 'Delete', wanted: ['StatefulSet'], condemned: ['Pod'] },
  ])('scaled $whenScaled, deleted $whenDeleted', async ({ wanted, condemned, ...policy }) => {
    await create({ ...data, replicas: 2, persistentVolumeClaimRetentionPolicy: policy })
    await bench.runPods()
    await change({ replicas: 1 })
    await bench.settle()
    expect((await claims()).map(({ metadata }) => (metadata.ownerReferences ?? []).map(({ kind }) => kind))).toEqual([
      wanted,
      condemned,
    ])
  })

  it('that go with a former pod are waited for', async () => {
    await create({ ...data, replicas: 1, persistentVolumeClaimRetentionPolicy: { whenScaled: 'Delete' } })
    await bench.runPods()
    await change({ replicas: 0 })
    await bench.runPods()
    await change({ replicas: 1 })
    await bench.settle()
    expect(await names()).toEqual([])
    const [stale] = await claims()
    await bench.resource(persistentVolumeClaimKind).patch('data-db-0', { metadata: { finalizers: null } })
    await bench.resource(persistentVolumeClaimKind).delete('data-db-0')
    await bench.settle()
    expect(await names()).toEqual(['db-0'])
    expect((await claims())[0]!.metadata.uid).not.toBe(stale!.metadata.uid)
  })
})
