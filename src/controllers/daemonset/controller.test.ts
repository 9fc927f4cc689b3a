import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { DaemonSet } from '../../api/generated/apps-v1.ts'
import type { Node, Pod } from '../../api/generated/core-v1.ts'
import { controllerRevisionKind } from '../../api/kinds/apps/controller-revision.ts'
import { daemonSetKind } from '../../api/kinds/apps/daemon-set/kind.ts'
import { nodeKind } from '../../api/kinds/core/node/kind.ts'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import { startWorkbench, template, type Workbench } from '../../testing/workbench.ts'
import { daemonSetController } from './controller.ts'
import { nodeOf } from './daemon-pod.ts'

let bench: Workbench
beforeEach(async () => {
  bench = await startWorkbench([daemonSetController])
})
afterEach(() => bench[Symbol.asyncDispose]())

const labels = { app: 'agent' }
const addNode = async (
  name: string,
  node: { labels?: Record<string, string>; taints?: NonNullable<Node['spec']>['taints'] } = {},
) => {
  await bench.plane.client.resource(nodeKind).create({ metadata: { name, labels: node.labels ?? {} } })
  // New nodes are tainted until they are ready, and nobody else is here to say so.
  await changeNode(name, { spec: { taints: node.taints ?? null } })
}
const changeNode = (name: string, patch: object) => bench.plane.client.resource(nodeKind).patch(name, patch)
async function addNodes(count: number) {
  for (let i = 1; i <= count; i++) await addNode(`node-${i}`)
}
const create = (spec: Partial<DaemonSet['spec']> = {}) =>
  bench.resource(daemonSetKind).create({
    metadata: { name: 'agent' },
    spec: { selector: { matchLabels: labels }, template: template(labels), ...spec },
  })
const change = (spec: object) => bench.resource(daemonSetKind).patch('agent', { spec })
const setImage = (image: string) => change({ template: { spec: { containers: [{ name: 'app', image }] } } })
const status = async () => (await bench.resource(daemonSetKind).get('agent')).status
const on = async () => (await bench.pods()).map(nodeOf).sort()
const imageOf = (pod: Pod) => pod.spec!.containers[0]!.image!
const images = async () => (await bench.pods()).map(imageOf).sort()

/** Binds what waits, as the scheduler would, and runs it. */
async function schedule() {
  for (const pod of await bench.pods()) {
    if (pod.spec?.nodeName) continue
    const target = { kind: 'Node', name: nodeOf(pod) }
    await bench.resource(podKind).subresource('create', pod.metadata.name!, 'binding', {
      apiVersion: 'v1',
      kind: 'Binding',
      metadata: { name: pod.metadata.name },
      target,
    })
  }
}
async function run(rounds = 20) {
  await bench.settle()
  for (let round = 0; round < rounds; round++) {
    await schedule()
    await bench.runPods(1)
  }
}

describe('placement', () => {
  it('puts one pod on each node, by node affinity, with the tolerations of a daemon', async () => {
    await addNodes(2)
    await create()
    await bench.settle()
    expect(await on()).toEqual(['node-1', 'node-2'])
    const [pod] = await bench.pods()
    const [revision] = (await bench.resource(controllerRevisionKind).list()).items
    expect(pod!.metadata.labels).toEqual({
      app: 'agent',
      'pod-template-generation': '1',
      'controller-revision-hash': revision!.metadata.labels!['controller-revision-hash'],
    })
    expect(pod!.spec?.nodeName).toBeUndefined()
    expect(pod!.spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution).toEqual({
      nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: [nodeOf(pod!)] }] }],
    })
    expect(pod!.spec?.tolerations).toContainEqual({
      key: 'node.kubernetes.io/not-ready',
      operator: 'Exists',
      effect: 'NoExecute',
    })
    expect(await status()).toEqual({
      observedGeneration: 1,
      currentNumberScheduled: 2,
      desiredNumberScheduled: 2,
      numberMisscheduled: 0,
      numberReady: 0,
      updatedNumberScheduled: 2,
      numberUnavailable: 2,
    })
    await run()
    expect(await status()).toMatchObject({ numberReady: 2, numberAvailable: 2 })
    expect((await status())?.numberUnavailable).toBeUndefined()
  })

  it('follows nodes that come, go, and change', async () => {
    await addNode('node-1', { labels: { disk: 'ssd' } })
    await addNode('node-2')
    await create({
      template: { ...template(labels), spec: { ...template(labels).spec, nodeSelector: { disk: 'ssd' } } },
    })
    await bench.settle()
    expect(await on()).toEqual(['node-1'])
    await changeNode('node-2', { metadata: { labels: { disk: 'ssd' } } })
    await bench.settle()
    expect(await on()).toEqual(['node-1', 'node-2'])
    await changeNode('node-1', { metadata: { labels: { disk: null } } })
    await bench.settle()
    expect(await on()).toEqual(['node-2'])
    await bench.plane.client.resource(nodeKind).delete('node-2')
    await bench.settle()
    expect(await status()).toMatchObject({ desiredNumberScheduled: 0 })
    await bench.resource(daemonSetKind).patch('agent', { metadata: { annotations: { look: 'again' } } })
    await bench.settle()
    expect(await on()).toEqual([])
  })

  it('keeps away from taints it does not tolerate, and leaves only for NoExecute', async () => {
    const taints = [{ key: 'dedicated', value: 'gpu', effect: 'NoSchedule' }]
    await addNode('node-1', { taints })
    await addNode('node-2')
    await create()
    await run()
    expect(await on()).toEqual(['node-2'])
    await changeNode('node-2', { spec: { taints } })
    await bench.settle()
    expect(await on()).toEqual(['node-2'])
    expect(await status()).toMatchObject({ desiredNumberScheduled: 0, numberMisscheduled: 1 })
    await changeNode('node-2', { spec: { taints: [{ key: 'dedicated', effect: 'NoExecute' }] } })
    await run()
    expect(await on()).toEqual([])
  })

  it('comes to nodes that are unschedulable or not ready', async () => {
    await addNode('node-1', { taints: [{ key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }] })
    await addNode('node-2', { taints: [{ key: 'node.kubernetes.io/not-ready', effect: 'NoExecute' }] })
    await addNode('node-3', { taints: [{ key: 'node.kubernetes.io/network-unavailable', effect: 'NoSchedule' }] })
    await create()
    await bench.settle()
    expect(await on()).toEqual(['node-1', 'node-2'])
  })

  it('replaces failed pods, later and later', async () => {
    await addNodes(1)
    await create()
    await run()
    const fail = async () => bench.setStatus((await bench.pods())[0]!, { phase: 'Failed' })
    const uid = async () => (await bench.pods())[0]?.metadata.uid
    const first = await uid()
    await fail()
    await bench.settle()
    await bench.finishTerminating()
    expect(await uid()).not.toBe(first)
    expect(bench.plane.events.filter((text) => text.startsWith('FailedDaemonPod'))).toHaveLength(1)
    const second = await uid()
    await fail()
    await bench.plane.settled()
    expect(await uid()).toBe(second)
    await bench.advance(60_000)
    await run()
    expect(await uid()).not.toBe(second)
  })

  it('deletes all but the oldest of several pods on a node', async () => {
    await addNodes(1)
    const { spec } = template(labels, 'app:1', 'node-1')
    await bench.resource(podKind).create({ metadata: { name: 'first', labels }, spec })
    await bench.advance(2000)
    await bench.resource(podKind).create({ metadata: { name: 'second', labels }, spec })
    await create({ updateStrategy: { type: 'OnDelete' } })
    await bench.settle()
    await bench.finishTerminating()
    expect((await bench.pods()).map((pod) => pod.metadata.name)).toEqual(['first'])
  })
})

describe('an update', () => {
  it.each([
    { maxUnavailable: 1, down: 1 },
    { maxUnavailable: '50%', down: 2 },
    { maxUnavailable: '100%', down: 4 },
  ])('with $maxUnavailable unavailable takes $down at a time', async ({ maxUnavailable, down }) => {
    await addNodes(4)
    await create({ updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable } } })
    await run()
    await setImage('app:2')
    await bench.settle()
    expect((await bench.pods()).filter((pod) => pod.metadata.deletionTimestamp)).toHaveLength(down)
    await run()
    expect(await images()).toEqual(['app:2', 'app:2', 'app:2', 'app:2'])
    expect(await status()).toMatchObject({ updatedNumberScheduled: 4, numberAvailable: 4 })
  })

  it('with a surge starts the new pod before the old one goes', async () => {
    await addNodes(3)
    await create({ updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } } })
    await run()
    await setImage('app:2')
    await bench.settle()
    expect(await images()).toEqual(['app:1', 'app:1', 'app:1', 'app:2'])
    expect((await bench.pods()).filter((pod) => pod.metadata.deletionTimestamp)).toHaveLength(0)
    await run()
    expect(await images()).toEqual(['app:2', 'app:2', 'app:2'])
  })

  it('with OnDelete waits for the user', async () => {
    await addNodes(2)
    await create({ updateStrategy: { type: 'OnDelete' } })
    await run()
    await setImage('app:2')
    await run()
    expect(await images()).toEqual(['app:1', 'app:1'])
    await bench.resource(podKind).delete((await bench.pods())[0]!.metadata.name!)
    await run()
    expect(await images()).toEqual(['app:1', 'app:2'])
    expect(await status()).toMatchObject({ updatedNumberScheduled: 1 })
  })

  it('is remembered and can be undone', async () => {
    await addNodes(1)
    await create({ revisionHistoryLimit: 1 })
    await run()
    for (const image of ['app:2', 'app:3']) {
      await setImage(image)
      await run()
    }
    const list = async () =>
      (await bench.resource(controllerRevisionKind).list()).items.sort((a, b) => a.revision - b.revision)
    const [second, third] = await list()
    expect((await list()).map((one) => one.revision)).toEqual([2, 3])
    await bench.resource(daemonSetKind).patch('agent', second!.data, { type: 'application/strategic-merge-patch+json' })
    await run()
    expect(await images()).toEqual(['app:2'])
    expect((await list()).map((one) => one.metadata.name)).toEqual([third!.metadata.name, second!.metadata.name])
  })

  it('does not restart pods for a second revision of the same template', async () => {
    await addNodes(1)
    await create()
    await run()
    const [pod] = await bench.pods()
    const [revision] = (await bench.resource(controllerRevisionKind).list()).items
    const { ownerReferences = [] } = revision!.metadata
    const copy = { metadata: { name: 'copy', labels, ownerReferences }, data: revision!.data, revision: 3 }
    await bench.resource(controllerRevisionKind).create(copy)
    await bench.resource(daemonSetKind).patch('agent', { metadata: { annotations: { look: 'again' } } })
    await run()
    expect((await bench.resource(controllerRevisionKind).list()).items.map((one) => one.metadata.name)).toEqual([
      'copy',
    ])
    expect((await bench.pods()).map((one) => one.metadata.uid)).toEqual([pod!.metadata.uid])
    expect(await status()).toMatchObject({ updatedNumberScheduled: 1, numberAvailable: 1 })
  })
})
