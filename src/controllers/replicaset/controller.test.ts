import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ReplicaSet } from '../../api/generated/apps-v1.ts'
import type { Pod } from '../../api/generated/core-v1.ts'
import { replicaSetKind } from '../../api/kinds/apps/replica-set/kind.ts'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import { replicationControllerKind } from '../../api/kinds/core/replication-controller.ts'
import { startWorkbench, template, type Workbench } from '../../testing/workbench.ts'
import { replicationControllerController } from '../replication-controller/controller.ts'
import { replicaSetController } from './controller.ts'

let bench: Workbench
beforeEach(async () => {
  bench = await startWorkbench([replicaSetController, replicationControllerController])
})
afterEach(() => bench[Symbol.asyncDispose]())

const labels = { app: 'web' }
const create = (spec: Partial<ReplicaSet['spec']> = {}, name = 'web') =>
  bench.resource(replicaSetKind).create({
    metadata: { name },
    spec: { replicas: 3, selector: { matchLabels: labels }, template: template(labels), ...spec },
  })
const scale = (replicas: number) => bench.resource(replicaSetKind).patch('web', { spec: { replicas } })
const status = async () => (await bench.resource(replicaSetKind).get('web')).status
const names = (pods: readonly Pod[]) => pods.map((pod) => pod.metadata.name)
const isMine = (pod: Pod) => pod.metadata.ownerReferences?.some((ref) => ref.name === 'web' && ref.controller)

describe('a ReplicaSet', () => {
  it('creates pods, counts them and deletes what is too much', async () => {
    await create()
    await bench.settle()
    const pods = await bench.pods()
    expect(pods).toHaveLength(3)
    expect(pods[0]!.metadata).toMatchObject({ generateName: 'web-', labels, ownerReferences: [{ kind: 'ReplicaSet' }] })
    expect(await status()).toEqual({
      replicas: 3,
      fullyLabeledReplicas: 3,
      terminatingReplicas: 0,
      observedGeneration: 1,
    })
    expect(bench.plane.events).toContain(`SuccessfulCreate: Created pod: ${names(pods)[0]}`)

    await bench.makeReady()
    expect(await status()).toMatchObject({ readyReplicas: 3, availableReplicas: 3 })

    await scale(1)
    await bench.settle()
    expect(await bench.pods()).toHaveLength(1)
    expect(await status()).toMatchObject({ replicas: 1, readyReplicas: 1, observedGeneration: 2 })
    expect(bench.plane.events.filter((text) => text.startsWith('SuccessfulDelete: Deleted pod: web-'))).toHaveLength(2)
  })

  it('replaces pods that are deleted or have ended', async () => {
    await create()
    await bench.settle()
    const [first, second] = await bench.pods()
    await bench.resource(podKind).delete(first!.metadata.name!)
    await bench.setStatus(second!, { phase: 'Failed' })
    await bench.settle()
    const pods = await bench.pods()
    expect(pods).toHaveLength(4)
    expect(pods.filter((pod) => pod.status?.phase === 'Pending')).toHaveLength(3)
  })

  it('counts terminating pods apart and replaces them at once', async () => {
    await create({ template: template(labels, 'app:1', 'node-1') })
    await bench.settle()
    await bench.resource(podKind).delete((await bench.pods())[0]!.metadata.name!)
    await bench.settle()
    expect(await bench.pods()).toHaveLength(4)
    expect(await status()).toMatchObject({ replicas: 3, terminatingReplicas: 1 })
    await bench.finishTerminating()
    expect(await status()).toMatchObject({ replicas: 3, terminatingReplicas: 0 })
  })

  it('waits minReadySeconds before a pod is available', async () => {
    await create({ minReadySeconds: 30, replicas: 1 })
    await bench.settle()
    await bench.makeReady()
    expect(await status()).toMatchObject({ readyReplicas: 1 })
    expect((await status())?.availableReplicas).toBeUndefined()
    await bench.advance(31_000)
    expect(await status()).toMatchObject({ availableReplicas: 1 })
  })

  it('adopts matching orphans, and leaves those of others alone', async () => {
    const foreign = [{ apiVersion: 'v1', kind: 'Other', name: 'o', uid: 'u', controller: true }]
    const { spec } = template(labels)
    await bench.resource(podKind).create({ metadata: { name: 'orphan', labels }, spec })
    await bench.resource(podKind).create({ metadata: { name: 'foreign', labels, ownerReferences: foreign }, spec })
    await create({ replicas: 2 })
    await bench.settle()
    const pods = await bench.pods()
    expect(pods).toHaveLength(3)
    expect(pods.filter(isMine)).toHaveLength(2)
    expect(names(pods.filter(isMine))).toContain('orphan')
  })

  it('adopts an orphan that appears later, and then has one too many', async () => {
    await create({ replicas: 1 })
    await bench.settle()
    await bench.resource(podKind).create({ metadata: { name: 'late', labels }, spec: template(labels).spec })
    await bench.settle()
    expect(await bench.pods()).toHaveLength(1)
  })

  it('releases a pod whose labels no longer match, and replaces it', async () => {
    await create({ replicas: 1 })
    await bench.settle()
    const [pod] = await bench.pods()
    await bench.resource(podKind).patch(pod!.metadata.name!, { metadata: { labels: { app: 'debug' } } })
    await bench.settle()
    const pods = await bench.pods()
    expect(pods).toHaveLength(2)
    const released = pods.find((one) => one.metadata.name === pod!.metadata.name)
    expect(released?.metadata.ownerReferences ?? []).toEqual([])
  })

  it('creates many pods at once', async () => {
    await create({ replicas: 700 })
    await bench.settle()
    expect(await bench.pods()).toHaveLength(700)
    expect((await status())?.replicas).toBe(700)
  })

  it('does nothing while it is being deleted', async () => {
    const made = await create({ replicas: 1 })
    await bench.settle()
    await bench.resource(replicaSetKind).patch('web', { metadata: { finalizers: ['example.com/hold'] } })
    await bench.resource(replicaSetKind).delete('web')
    await bench.resource(podKind).delete((await bench.pods())[0]!.metadata.name!)
    await bench.settle()
    expect(made.spec?.replicas).toBe(1)
    expect(await bench.pods()).toHaveLength(0)
  })
})

describe('a ReplicationController', () => {
  it('keeps pods by its set of labels', async () => {
    await bench.resource(replicationControllerKind).create({
      metadata: { name: 'old' },
      spec: { replicas: 2, template: template({ app: 'old' }) },
    })
    await bench.settle()
    await bench.makeReady()
    const { status } = await bench.resource(replicationControllerKind).get('old')
    expect(await bench.pods()).toHaveLength(2)
    expect(status).toEqual({
      replicas: 2,
      fullyLabeledReplicas: 2,
      readyReplicas: 2,
      availableReplicas: 2,
      observedGeneration: 1,
    })
  })
})
