import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Deployment, ReplicaSet } from '../../api/generated/apps-v1.ts'
import { deploymentKind } from '../../api/kinds/apps/deployment/kind.ts'
import { replicaSetKind } from '../../api/kinds/apps/replica-set/kind.ts'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import { ApiError } from '../../api/meta/api-error.ts'
import { findCondition } from '../../api/meta/conditions.ts'
import { startWorkbench, template, type Workbench, withTransport } from '../../testing/workbench.ts'
import { replicaSetController } from '../replicaset/controller.ts'
import { deploymentController } from './controller.ts'

let bench: Workbench
beforeEach(async () => {
  bench = await startWorkbench([deploymentController, replicaSetController])
})
afterEach(() => bench[Symbol.asyncDispose]())

const labels = { app: 'web' }
const create = (spec: Partial<Deployment['spec']> = {}) =>
  bench.resource(deploymentKind).create({
    metadata: { name: 'web' },
    spec: { replicas: 3, selector: { matchLabels: labels }, template: template(labels, 'app:1'), ...spec },
  })
const change = (spec: object) => bench.resource(deploymentKind).patch('web', { spec })
const setImage = (image: string) => change({ template: { spec: { containers: [{ name: 'app', image }] } } })
const get = () => bench.resource(deploymentKind).get('web')
const condition = async (type: string) => findCondition((await get()).status?.conditions, type)

/** image -> size, of the ReplicaSets that have one. */
async function sizes(): Promise<Record<string, number>> {
  const { items } = await bench.resource(replicaSetKind).list()
  return Object.fromEntries(items.filter((one) => one.spec?.replicas).map((one) => [imageOf(one), one.spec!.replicas!]))
}
const imageOf = (one: ReplicaSet) => one.spec!.template!.spec!.containers[0]!.image!
async function replicaSet(image: string): Promise<ReplicaSet> {
  const { items } = await bench.resource(replicaSetKind).list()
  return items.find((one) => imageOf(one) === image)!
}
const podsOf = async (image: string) =>
  (await bench.pods()).filter((pod) => pod.spec?.containers[0]?.image === image && !pod.metadata.deletionTimestamp)

/** One at a time becomes ready, as slow pods would; the sizes in between are noted, and so the bounds. */
async function rollOutSlowly(): Promise<{ most: number; fewest: number }> {
  let most = 0
  let fewest = Number.POSITIVE_INFINITY
  for (let step = 0; step < 60; step++) {
    const pods = (await bench.pods()).filter((pod) => !pod.metadata.deletionTimestamp)
    most = Math.max(most, pods.length)
    fewest = Math.min(fewest, pods.filter((pod) => pod.status?.phase === 'Running').length)
    const next = pods.find((pod) => pod.status?.phase === 'Pending')
    if (!next) break
    await bench.makeReady([next])
  }
  return { most, fewest }
}

describe('a first rollout', () => {
  it('creates a ReplicaSet named by its template, and tells of it', async () => {
    await create()
    await bench.settle()
    const made = await replicaSet('app:1')
    const hash = made.metadata.labels!['pod-template-hash']
    expect(made.metadata.name).toBe(`web-${hash}`)
    expect(made.spec?.selector.matchLabels).toEqual({ app: 'web', 'pod-template-hash': hash })
    expect(made.metadata.annotations).toEqual({
      'deployment.kubernetes.io/revision': '1',
      'deployment.kubernetes.io/desired-replicas': '3',
      'deployment.kubernetes.io/max-replicas': '4',
    })
    expect(bench.plane.events).toContain(`ScalingReplicaSet: Scaled up replica set web-${hash} from 0 to 3`)
    expect((await get()).metadata.annotations).toEqual({ 'deployment.kubernetes.io/revision': '1' })
    expect((await get()).status).toMatchObject({
      observedGeneration: 1,
      replicas: 3,
      updatedReplicas: 3,
      unavailableReplicas: 3,
    })
    expect(await condition('Available')).toMatchObject({ status: 'False', reason: 'MinimumReplicasUnavailable' })
    expect(await condition('Progressing')).toMatchObject({ status: 'True', reason: 'ReplicaSetUpdated' })

    await bench.makeReady()
    expect((await get()).status).toMatchObject({ readyReplicas: 3, availableReplicas: 3 })
    expect(await condition('Available')).toMatchObject({ status: 'True', reason: 'MinimumReplicasAvailable' })
    expect(await condition('Progressing')).toMatchObject({
      status: 'True',
      reason: 'NewReplicaSetAvailable',
      message: `ReplicaSet "web-${hash}" has successfully progressed.`,
    })
  })

  it('adopts a ReplicaSet that matches', async () => {
    await bench.resource(replicaSetKind).create({
      metadata: { name: 'orphan', labels },
      spec: { replicas: 3, selector: { matchLabels: labels }, template: template(labels, 'app:1') },
    })
    await create()
    await bench.settle()
    const { items } = await bench.resource(replicaSetKind).list()
    expect(items.map((one) => one.metadata.ownerReferences?.[0]?.name)).toEqual(['web'])
  })

  it('takes another name when the hash is taken', async () => {
    await create({ replicas: 0 })
    await bench.settle()
    const { name } = (await replicaSet('app:1')).metadata
    await bench.resource(deploymentKind).delete('web')
    await bench.resource(replicaSetKind).delete(name!)
    await bench.settle()
    await bench.resource(replicaSetKind).create({
      metadata: { name: name!, labels: { other: 'x' } },
      spec: { replicas: 0, selector: { matchLabels: { other: 'x' } }, template: template({ other: 'x' }, 'app:9') },
    })
    await create()
    await bench.settle()
    expect((await get()).status?.collisionCount).toBe(1)
    expect((await replicaSet('app:1')).metadata.name).not.toBe(name)
    expect(await podsOf('app:1')).toHaveLength(3)
  })
})

describe('a rolling update', () => {
  it.each([
    { replicas: 4, maxSurge: 1, maxUnavailable: 0, most: 5, fewest: 4 },
    { replicas: 4, maxSurge: 0, maxUnavailable: 1, most: 4, fewest: 3 },
    { replicas: 4, maxSurge: '25%', maxUnavailable: '25%', most: 5, fewest: 3 },
    { replicas: 3, maxSurge: '25%', maxUnavailable: '25%', most: 4, fewest: 3 },
    { replicas: 10, maxSurge: '100%', maxUnavailable: 0, most: 20, fewest: 10 },
    { replicas: 3, maxSurge: 0, maxUnavailable: '10%', most: 3, fewest: 2 },
  ])(
    'of $replicas with surge $maxSurge and $maxUnavailable unavailable',
    async ({ most, fewest, replicas, ...rollingUpdate }) => {
      await create({ replicas, strategy: { type: 'RollingUpdate', rollingUpdate } })
      await bench.runPods()
      await setImage('app:2')
      await bench.settle()
      expect(await rollOutSlowly()).toEqual({ most, fewest })
      expect(await sizes()).toEqual({ 'app:2': replicas })
      expect(await podsOf('app:1')).toHaveLength(0)
      expect(await condition('Progressing')).toMatchObject({ reason: 'NewReplicaSetAvailable' })
      expect((await replicaSet('app:2')).metadata.annotations).toMatchObject({
        'deployment.kubernetes.io/revision': '2',
      })
      expect((await get()).metadata.annotations).toMatchObject({ 'deployment.kubernetes.io/revision': '2' })
    },
  )

  it('rolls over to a third template before the second was finished', async () => {
    await create({ replicas: 4 })
    await bench.runPods()
    await setImage('app:bad')
    await bench.settle()
    expect((await sizes())['app:bad']).toBeGreaterThan(0)
    await setImage('app:3')
    await bench.runPods()
    expect(await sizes()).toEqual({ 'app:3': 4 })
  })

  it('replaces unhealthy old pods first', async () => {
    await create({
      replicas: 2,
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 1 } },
    })
    await bench.settle()
    const [healthy] = await bench.pods()
    await bench.makeReady([healthy!])
    await setImage('app:2')
    await bench.settle()
    expect((await podsOf('app:1')).map((pod) => pod.metadata.name)).toEqual([healthy!.metadata.name])
  })

  it('waits for minReadySeconds', async () => {
    await create({
      replicas: 1,
      minReadySeconds: 60,
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
    })
    await bench.settle()
    await bench.makeReady()
    await bench.advance(61_000)
    await setImage('app:2')
    await bench.settle()
    await bench.makeReady(await podsOf('app:2'))
    expect(await sizes()).toEqual({ 'app:1': 1, 'app:2': 1 })
    await bench.advance(62_000)
    expect(await sizes()).toEqual({ 'app:2': 1 })
  })

  it('rolls back to an old template: its ReplicaSet becomes the newest revision', async () => {
    await create()
    await bench.runPods()
    const { name } = (await replicaSet('app:1')).metadata
    await setImage('app:2')
    await bench.runPods()
    await setImage('app:1')
    await bench.runPods()
    const back = await replicaSet('app:1')
    expect(back.metadata.name).toBe(name)
    expect(back.metadata.annotations).toMatchObject({
      'deployment.kubernetes.io/revision': '3',
      'deployment.kubernetes.io/revision-history': '1',
    })
    expect(await sizes()).toEqual({ 'app:1': 3 })
  })

  it('keeps as many old ReplicaSets as its history limit says', async () => {
    await create({ revisionHistoryLimit: 1 })
    await bench.runPods()
    for (const image of ['app:2', 'app:3', 'app:4']) {
      await setImage(image)
      await bench.runPods()
    }
    const { items } = await bench.resource(replicaSetKind).list()
    expect(items.map(imageOf).sort()).toEqual(['app:3', 'app:4'])
  })

  it('tells when it is stuck, and goes on when it can', async () => {
    await create({ replicas: 1, progressDeadlineSeconds: 60 })
    await bench.runPods()
    await setImage('app:stuck')
    await bench.settle()
    await bench.advance(30_000)
    expect(await condition('Progressing')).toMatchObject({ status: 'True', reason: 'ReplicaSetUpdated' })
    await bench.advance(40_000)
    const { name } = (await replicaSet('app:stuck')).metadata
    expect(await condition('Progressing')).toMatchObject({
      status: 'False',
      reason: 'ProgressDeadlineExceeded',
      message: `ReplicaSet "${name}" has timed out progressing.`,
    })
    await bench.runPods()
    expect(await condition('Progressing')).toMatchObject({ status: 'True', reason: 'NewReplicaSetAvailable' })
  })
})

describe('Recreate', () => {
  it('starts new pods only when the last old one is gone', async () => {
    await create({ strategy: { type: 'Recreate' }, template: template(labels, 'app:1', 'node-1') })
    await bench.runPods()
    await change({ template: template(labels, 'app:2', 'node-1') })
    await bench.settle()
    expect(await podsOf('app:2')).toHaveLength(0)
    const terminating = await bench.pods()
    expect(terminating).toHaveLength(3)
    for (const pod of terminating.slice(1))
      await bench.resource(podKind).delete(pod.metadata.name!, { gracePeriodSeconds: 0 })
    await bench.settle()
    expect(await podsOf('app:2')).toHaveLength(0)
    await bench.finishTerminating()
    expect(await podsOf('app:2')).toHaveLength(3)
    await bench.runPods()
    expect(await condition('Progressing')).toMatchObject({ reason: 'NewReplicaSetAvailable' })
  })
})

describe('scaling', () => {
  it('changes the size without a rollout', async () => {
    await create()
    await bench.runPods()
    await change({ replicas: 5 })
    await bench.runPods()
    expect(await sizes()).toEqual({ 'app:1': 5 })
    const { name } = (await replicaSet('app:1')).metadata
    expect(bench.plane.events).toContain(`ScalingReplicaSet: Scaled up replica set ${name} from 3 to 5`)
    expect((await replicaSet('app:1')).metadata.annotations).toMatchObject({
      'deployment.kubernetes.io/desired-replicas': '5',
    })
    await change({ replicas: 0 })
    await bench.settle()
    expect(await bench.pods()).toHaveLength(0)
    expect(await condition('Available')).toMatchObject({ status: 'True' })
  })

  it('in the middle of a rollout keeps the part that each ReplicaSet has', async () => {
    const rollingUpdate = { maxSurge: 4, maxUnavailable: 3 }
    await create({ replicas: 12, strategy: { type: 'RollingUpdate', rollingUpdate } })
    await bench.runPods()
    await setImage('app:2')
    await bench.settle()
    expect(await sizes()).toEqual({ 'app:1': 9, 'app:2': 7 })
    await change({ replicas: 20 })
    await bench.settle()
    // 24 pods instead of 16: 9 becomes 13.5, rounded to 14, which leaves 10.
    expect(await sizes()).toEqual({ 'app:1': 14, 'app:2': 10 })
  })
})

describe('a paused Deployment', () => {
  it('is scaled but not rolled out', async () => {
    await create()
    await bench.runPods()
    await change({ paused: true })
    await setImage('app:2')
    await bench.settle()
    expect(await sizes()).toEqual({ 'app:1': 3 })
    expect(await condition('Progressing')).toMatchObject({ status: 'Unknown', reason: 'DeploymentPaused' })
    await change({ replicas: 4 })
    await bench.runPods()
    expect(await sizes()).toEqual({ 'app:1': 4 })
    await change({ paused: false })
    await bench.runPods()
    expect(await sizes()).toEqual({ 'app:2': 4 })
    expect(await condition('Progressing')).toMatchObject({ status: 'True', reason: 'NewReplicaSetAvailable' })
  })
})

describe('when pods cannot be created', () => {
  it('the Deployment tells what its ReplicaSet met, until it works again', async () => {
    let isFull = true
    const limited = withTransport(replicaSetController, (transport) => ({
      ...transport,
      async call(call) {
        if (isFull && call.verb === 'create' && call.resource.plural === 'pods')
          throw new ApiError(403, 'Forbidden', 'pods "web-x" is forbidden: exceeded quota: small')
        return transport.call(call)
      },
    }))
    await bench[Symbol.asyncDispose]()
    bench = await startWorkbench([deploymentController, limited])
    await create()
    await bench.settle()
    const message = 'pods "web-x" is forbidden: exceeded quota: small'
    expect(await condition('ReplicaFailure')).toMatchObject({ status: 'True', reason: 'FailedCreate', message })
    expect(bench.plane.events).toContain(`FailedCreate: Error creating: ${message}`)
    isFull = false
    await bench.advance(60_000)
    await bench.runPods()
    expect(await condition('ReplicaFailure')).toBeUndefined()
    expect(await podsOf('app:1')).toHaveLength(3)
  })
})
