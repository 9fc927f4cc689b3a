import { afterEach, describe, expect, it } from 'vitest'
import { controllerRevisionKind } from '../../api/kinds/apps/controller-revision.ts'
import { daemonSetKind } from '../../api/kinds/apps/daemon-set/kind.ts'
import { deploymentKind } from '../../api/kinds/apps/deployment/kind.ts'
import { replicaSetKind } from '../../api/kinds/apps/replica-set/kind.ts'
import { statefulSetKind } from '../../api/kinds/apps/stateful-set/kind.ts'
import { nodeKind } from '../../api/kinds/core/node/kind.ts'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import { silentLogger } from '../../base/log.ts'
import { type Random, seededRandom } from '../../base/random.ts'
import { createClient } from '../../client/client.ts'
import { createInformerFactory } from '../../client/informer-factory.ts'
import type { Transport } from '../../client/transport.ts'
import { startWorkbench, template, type Workbench, withTransport } from '../../testing/workbench.ts'
import type { Controller, ControllerContext } from '../controller.ts'
import { daemonSetController } from '../daemonset/controller.ts'
import { nodeOf } from '../daemonset/daemon-pod.ts'
import { deploymentController } from '../deployment/controller.ts'
import { replicaSetController } from '../replicaset/controller.ts'
import { runControllers } from '../runner.ts'
import { statefulSetController } from '../statefulset/controller.ts'
import { isActive, isReady } from './pod-state.ts'

const ALL = [deploymentController, replicaSetController, statefulSetController, daemonSetController]

let bench: Workbench
afterEach(() => bench[Symbol.asyncDispose]())

describe('with informers that lag behind', () => {
  /** A controller whose informers hear of no pods while the gate is closed. */
  function lagging(create: (context: ControllerContext) => Controller, gate: { open: Promise<void> }) {
    return (context: ControllerContext) => {
      const { transport } = context.client
      const slow: Transport = {
        ...transport,
        async *watch(call) {
          for await (const batch of transport.watch(call)) {
            if (call.resource.plural === 'pods') await gate.open
            yield batch
          }
        },
      }
      return create({ ...context, informers: createInformerFactory({ ...context, transport: slow }) })
    }
  }

  it('a ReplicaSet never creates or deletes more than it should', async () => {
    let open = () => {}
    const gate = { open: Promise.resolve() }
    const close = () => {
      gate.open = new Promise((resolve) => {
        open = resolve
      })
    }
    bench = await startWorkbench([lagging(replicaSetController, gate)])
    const labels = { app: 'web' }
    const spec = { replicas: 3, selector: { matchLabels: labels }, template: template(labels) }
    await bench.resource(replicaSetKind).create({ metadata: { name: 'web' }, spec })
    await bench.plane.settled()
    close()
    for (const replicas of [5, 2, 4]) {
      await bench.resource(replicaSetKind).patch('web', { spec: { replicas } })
      await bench.advance(1000)
      expect((await bench.pods()).length).toBeLessThanOrEqual(5)
      open()
      close()
      await bench.settle()
    }
    open()
    gate.open = Promise.resolve()
    await bench.settle()
    expect(await bench.pods()).toHaveLength(4)
    const told = (reason: string) => bench.plane.events.filter((text) => text.startsWith(reason)).length
    expect(told('SuccessfulCreate') - told('SuccessfulDelete')).toBe(4)
    expect(told('SuccessfulCreate')).toBeLessThanOrEqual(7)
  })
})

/** Stands for a process that dies: from one call on nothing gets through, whether or not that call did. */
class Dying extends Error {}

function dying(transport: Transport, random: Random, calls: number): Transport {
  let left = calls
  return {
    ...transport,
    async call(call) {
      if (left-- > 0 || call.verb === 'list') return transport.call(call)
      if (left === -1 && random.next() < 0.5) await transport.call(call)
      throw new Dying('the process is gone')
    },
  }
}

/** Controllers that are killed again and again, at any call, and start anew with nothing in memory. */
async function killAgainAndAgain(kills: number, random: Random): Promise<void> {
  const { clock, plane } = bench
  const log = silentLogger
  for (let kill = 0; kill < kills; kill++) {
    const calls = Math.floor(random.next() * 12)
    const transport = dying(plane.client.transport, random, calls)
    const informers = createInformerFactory({ transport: plane.client.transport, clock, random, log })
    const events = { event: () => {} }
    const context = { client: createClient(transport), informers, events, clock, random, log }
    const runner = await runControllers(
      ALL.map((create) => create(context)),
      { clock, log },
    )
    for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate)
    await runner[Symbol.asyncDispose]()
    await informers[Symbol.asyncDispose]()
    if (random.next() < 0.5) await aDayOfPods()
  }
}

/** Binds, runs and ends pods as scheduler and nodes would. */
async function aDayOfPods(): Promise<void> {
  for (const pod of await bench.pods()) {
    const { name = '' } = pod.metadata
    const pods = bench.resource(podKind)
    if (pod.metadata.deletionTimestamp) await pods.delete(name, { gracePeriodSeconds: 0 })
    else if (!pod.spec?.nodeName) {
      const target = { kind: 'Node', name: nodeOf(pod) || 'node-1' }
      const binding = { apiVersion: 'v1', kind: 'Binding', metadata: { name }, target }
      await pods.subresource('create', name, 'binding', binding)
    } else if (!isReady(pod))
      await bench.setStatus(pod, { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] })
  }
}

async function mayNotExceed(): Promise<void> {
  const { items } = await bench.resource(replicaSetKind).list()
  for (const { metadata, spec } of items) {
    const pods = (await bench.pods()).filter((pod) => pod.metadata.ownerReferences?.[0]?.uid === metadata.uid)
    expect(pods.filter(isActive).length).toBeLessThanOrEqual(Math.max(spec!.replicas!, 4))
  }
}

describe('killed at any step', () => {
  const workload = (app: string) => ({ selector: { matchLabels: { app } }, template: template({ app }, 'app:1') })
  const change = { template: { spec: { containers: [{ name: 'app', image: 'app:2' }] } } }

  it.each(Array.from({ length: 12 }, (_, seed) => seed))(
    'rollouts end as if nothing had happened: seed %i',
    async (seed) => {
      const random = seededRandom(seed)
      bench = await startWorkbench([])
      for (const name of ['node-1', 'node-2', 'node-3']) {
        await bench.plane.client.resource(nodeKind).create({ metadata: { name } })
        await bench.plane.client.resource(nodeKind).patch(name, { spec: { taints: null } })
      }
      await bench
        .resource(deploymentKind)
        .create({ metadata: { name: 'web' }, spec: { replicas: 4, ...workload('web') } })
      await bench
        .resource(statefulSetKind)
        .create({ metadata: { name: 'db' }, spec: { replicas: 3, ...workload('db') } })
      await bench.resource(daemonSetKind).create({ metadata: { name: 'agent' }, spec: workload('agent') })
      await killAgainAndAgain(15, random)
      await mayNotExceed()
      for (const [kind, name] of [
        [deploymentKind, 'web'],
        [statefulSetKind, 'db'],
        [daemonSetKind, 'agent'],
      ] as const)
        await bench.plane.client
          .resource(kind as typeof deploymentKind)
          .namespace('default')
          .patch(name, { spec: change })
      await killAgainAndAgain(15, random)
      await mayNotExceed()

      const { clock, plane } = bench
      const informers = createInformerFactory({ transport: plane.client.transport, clock, random, log: silentLogger })
      const context = { client: plane.client, informers, events: { event: () => {} }, clock, random, log: silentLogger }
      const runner = await runControllers(
        ALL.map((create) => create(context)),
        context,
      )
      for (let day = 0; day < 60; day++) {
        await clock.advanceAsync(1000)
        await aDayOfPods()
      }
      await clock.advanceAsync(1000)
      const pods = await bench.pods()
      const of = (app: string) => pods.filter((pod) => pod.metadata.labels?.app === app)
      expect(of('web').map((pod) => pod.spec!.containers[0]!.image)).toEqual(['app:2', 'app:2', 'app:2', 'app:2'])
      expect(of('db').map((pod) => [pod.metadata.name, pod.spec!.containers[0]!.image])).toEqual([
        ['db-0', 'app:2'],
        ['db-1', 'app:2'],
        ['db-2', 'app:2'],
      ])
      expect(
        of('agent')
          .map((pod) => [nodeOf(pod), pod.spec!.containers[0]!.image])
          .sort(),
      ).toEqual([
        ['node-1', 'app:2'],
        ['node-2', 'app:2'],
        ['node-3', 'app:2'],
      ])
      expect((await bench.resource(replicaSetKind).list()).items).toHaveLength(2)
      expect((await bench.resource(controllerRevisionKind).list()).items).toHaveLength(4)
      await runner[Symbol.asyncDispose]()
      await informers[Symbol.asyncDispose]()
    },
  )
})

describe('when answers are lost', () => {
  it('the end is right all the same', async () => {
    const random = seededRandom(7)
    let isFaulty = true
    const unsure = (create: (context: ControllerContext) => Controller) =>
      withTransport(create, (transport) => ({
        ...transport,
        async call(call) {
          const fate = isFaulty ? random.next() : 1
          if (fate < 0.15) throw new Dying('not sent')
          const answer = await transport.call(call)
          if (fate < 0.3) throw new Dying('not answered')
          return answer
        },
      }))
    bench = await startWorkbench([unsure(deploymentController), unsure(replicaSetController)])
    const labels = { app: 'web' }
    const spec = { replicas: 10, selector: { matchLabels: labels }, template: template(labels) }
    await bench.resource(deploymentKind).create({ metadata: { name: 'web' }, spec })
    await bench.runPods()
    await bench.resource(deploymentKind).patch('web', { spec: { template: template(labels, 'app:2') } })
    await bench.runPods()
    isFaulty = false
    await bench.advance(120_000)
    await bench.runPods()
    const images = (await bench.pods()).map((pod) => pod.spec!.containers[0]!.image)
    expect(images).toEqual(Array(10).fill('app:2'))
    expect((await bench.resource(replicaSetKind).list()).items).toHaveLength(2)
  })
})
