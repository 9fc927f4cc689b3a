import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Container, Pod } from '../api/generated/core-v1.ts'
import { leaseKind } from '../api/kinds/coordination/lease.ts'
import { nodeKind } from '../api/kinds/core/node/kind.ts'
import { podKind } from '../api/kinds/core/pod/kind.ts'
import { silentLogger } from '../base/log.ts'
import { seededRandom } from '../base/random.ts'
import { VirtualClock } from '../base/virtual-clock.ts'
import { type ControlPlane, startControlPlane } from '../testing/control-plane.ts'
import { type SimulatedNodes, startSimulatedNodes } from './simulated-node.ts'

let plane: ControlPlane
let nodes: SimulatedNodes
let clock: VirtualClock

beforeEach(async () => {
  clock = new VirtualClock()
  plane = await startControlPlane({ clock })
  const { client, informers } = plane
  nodes = await startSimulatedNodes({ client, informers, clock, random: seededRandom(1), log: silentLogger })
  await nodes.add([{ name: 'a' }, { name: 'b', labels: { zone: 'x' }, capacity: { cpu: '2' } }])
})
afterEach(async () => {
  await nodes[Symbol.asyncDispose]()
  await plane[Symbol.asyncDispose]()
})

const pods = () => plane.client.resource(podKind).namespace('default')
const settle = async () => {
  for (let quiet = 0; quiet < 5; quiet++) {
    await new Promise(setImmediate)
    if (nodes.isBusy) quiet = -1
  }
}
const advance = async (milliseconds: number) => {
  await clock.advanceAsync(milliseconds)
  await settle()
}
const P = 'simulated.sampan.dev/'

async function run(
  spec: Partial<NonNullable<Pod['spec']>> = {},
  annotations: Record<string, string> = {},
): Promise<Pod> {
  const containers = [{ name: 'c', image: 'nginx' }]
  await pods().create({ metadata: { name: 'p', annotations }, spec: { nodeName: 'a', containers, ...spec } })
  await settle()
  return pods().get('p')
}
const now = () => pods().get('p')
const states = (pod: Pod) =>
  [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])].map((s) =>
    s.state?.running
      ? 'running'
      : s.state?.terminated
        ? `exit ${s.state.terminated.exitCode}`
        : s.state?.waiting?.reason,
  )
const ready = (pod: Pod) => pod.status?.conditions?.find(({ type }) => type === 'Ready')?.status

describe('simulated nodes', () => {
  it('register with capacity, addresses, conditions and a lease', async () => {
    const b = await plane.client.resource(nodeKind).get('b')
    expect(b.metadata.labels).toMatchObject({ zone: 'x', 'kubernetes.io/hostname': 'b' })
    expect(b.status?.allocatable).toMatchObject({ cpu: '2', memory: '32Gi', pods: '110' })
    expect(b.status?.conditions?.find(({ type }) => type === 'Ready')).toMatchObject({
      status: 'True',
      reason: 'KubeletReady',
    })
    expect(b.status?.addresses?.[0]).toEqual({ type: 'InternalIP', address: '172.18.0.3' })
    const lease = await plane.client.resource(leaseKind).namespace('kube-node-lease').get('b')
    expect(lease.spec).toMatchObject({ holderIdentity: 'b', leaseDurationSeconds: 40 })
  })

  it('beat by lease every ten seconds and by status every five minutes, until they are killed', async () => {
    const lease = async () =>
      (await plane.client.resource(leaseKind).namespace('kube-node-lease').get('a')).spec?.renewTime
    const beat = async () => (await plane.client.resource(nodeKind).get('a')).status?.conditions?.[0]?.lastHeartbeatTime
    await advance(10_000)
    expect(await lease()).toBe('2026-01-01T00:00:10.000000Z')
    await advance(10_000)
    expect(await lease()).toBe('2026-01-01T00:00:20.000000Z')
    expect(await beat()).toBe('2026-01-01T00:00:00Z')
    await advance(300_000)
    expect(await beat()).toBe('2026-01-01T00:05:00Z')
    nodes.kill('a')
    const last = await lease()
    await advance(60_000)
    expect(await lease()).toBe(last)
    await nodes.revive('a')
    expect(await lease()).not.toBe(last)
  })

  it('run pods: ready, with an address and the statuses a kubelet writes', async () => {
    const { status } = await run()
    expect(status).toMatchObject({
      phase: 'Running',
      podIP: '10.244.0.2',
      podIPs: [{ ip: '10.244.0.2' }],
      hostIP: '172.18.0.2',
      startTime: '2026-01-01T00:00:00Z',
      observedGeneration: 1,
    })
    expect(status?.containerStatuses?.[0]).toMatchObject({
      name: 'c',
      state: { running: { startedAt: '2026-01-01T00:00:00Z' } },
      ready: true,
      started: true,
      restartCount: 0,
      image: 'docker.io/library/nginx:latest',
    })
    expect(status?.conditions?.map(({ type, status }) => `${type}=${status}`).sort()).toEqual([
      'ContainersReady=True',
      'Initialized=True',
      'PodReadyToStartContainers=True',
      'PodScheduled=True',
      'Ready=True',
    ])
  })

  it('write a status once', async () => {
    const before = (await run()).metadata.resourceVersion
    await advance(600_000)
    expect((await now()).metadata.resourceVersion).toBe(before)
  })

  it('delete pods that are told to go', async () => {
    await run()
    await pods().delete('p')
    await settle()
    await expect(now()).rejects.toThrow('not found')
  })

  it('keep a terminating pod as long as it says, but not beyond its grace', async () => {
    await run({}, { [`${P}terminate-after`]: '5m' })
    await pods().delete('p', { gracePeriodSeconds: 20 })
    await advance(19_000)
    expect(states(await now())).toEqual(['running'])
    await advance(1000)
    await expect(now()).rejects.toThrow('not found')
  })

  it('leave a finalizer to whoever has it, with everything stopped', async () => {
    await pods().create({
      metadata: { name: 'p', finalizers: ['example.com/x'] },
      spec: { nodeName: 'a', containers: [{ name: 'c', image: 'i' }] },
    })
    await settle()
    await pods().delete('p')
    await settle()
    const pod = await now()
    expect(pod.status?.phase).toBe('Failed')
    expect(states(pod)).toEqual(['exit 143'])
  })

  const rows: [
    string,
    Partial<NonNullable<Pod['spec']>>,
    Record<string, string>,
    [number, string | undefined, (string | undefined)[]][],
  ][] = [
    [
      'ready after a time',
      {},
      { 'ready-after': '5s' },
      [
        [0, 'Running', ['running']],
        [5000, 'Running', ['running']],
      ],
    ],
    [
      'started after a time',
      {},
      { 'start-after': '5s' },
      [
        [0, 'Pending', ['ContainerCreating']],
        [5000, 'Running', ['running']],
      ],
    ],
    [
      'ends well',
      { restartPolicy: 'Never' },
      { 'exit-after': '5s' },
      [
        [0, 'Running', ['running']],
        [5000, 'Succeeded', ['exit 0']],
      ],
    ],
    [
      'ends badly',
      { restartPolicy: 'Never' },
      { 'exit-after': '5s', 'exit-code': '3' },
      [[5000, 'Failed', ['exit 3']]],
    ],
    [
      'crash loop',
      {},
      { 'exit-code': '1' },
      [
        [0, 'Running', ['CrashLoopBackOff']],
        [10_000, 'Running', ['CrashLoopBackOff']],
      ],
    ],
    [
      'on failure: success is the end',
      { restartPolicy: 'OnFailure' },
      { 'exit-after': '1s' },
      [[1000, 'Succeeded', ['exit 0']]],
    ],
    [
      'unknown image',
      { containers: [{ name: 'c', image: 'nonexistent' }] },
      {},
      [
        [0, 'Pending', ['ErrImagePull']],
        [1000, 'Pending', ['ImagePullBackOff']],
      ],
    ],
    ['a failure of its own', {}, { fail: 'Evicted' }, [[0, 'Failed', []]]],
    [
      'deadline',
      { activeDeadlineSeconds: 5 },
      {},
      [
        [0, 'Running', ['running']],
        [5000, 'Failed', ['exit 143']],
      ],
    ],
    [
      'sleep',
      { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i', command: ['sleep', '3'] }] },
      {},
      [
        [2000, 'Running', ['running']],
        [1000, 'Succeeded', ['exit 0']],
      ],
    ],
    [
      'sh -c',
      {
        restartPolicy: 'Never',
        containers: [{ name: 'c', image: 'i', command: ['sh', '-c', 'echo x; sleep 2 && exit 7'] }],
      },
      {},
      [[2000, 'Failed', ['exit 7']]],
    ],
    ['init containers', { initContainers: [{ name: 'i', image: 'i' }] }, {}, [[0, 'Running', ['exit 0', 'running']]]],
    [
      'slow init container',
      { initContainers: [{ name: 'i', image: 'i' }] },
      { 'exit-after.i': '4s' },
      [
        [0, 'Pending', ['running', 'PodInitializing']],
        [4000, 'Running', ['exit 0', 'running']],
      ],
    ],
    [
      'failing init container',
      { restartPolicy: 'Never', initContainers: [{ name: 'i', image: 'i', command: ['false'] } as Container] },
      {},
      [[0, 'Failed', ['exit 1', 'PodInitializing']]],
    ],
    [
      'sidecar',
      { restartPolicy: 'Never', initContainers: [{ name: 's', image: 'i', restartPolicy: 'Always' } as Container] },
      { 'exit-after': '2s' },
      [
        [0, 'Running', ['running', 'running']],
        [2000, 'Succeeded', ['exit 0', 'exit 0']],
      ],
    ],
  ]
  it.each(rows)('%s', async (_name, spec, annotations, steps) => {
    await run(spec, Object.fromEntries(Object.entries(annotations).map(([key, value]) => [P + key, value])))
    for (const [after, phase, expected] of steps) {
      await advance(after)
      const pod = await now()
      expect([pod.status?.phase, states(pod)]).toEqual([phase, expected])
    }
  })

  it('restart with growing pauses', async () => {
    await run({}, { [`${P}exit-after`]: '1s', [`${P}exit-code`]: '1' })
    const restarts: number[] = []
    for (const after of [1000, 1000, 10_000, 1000, 20_000]) {
      await advance(after)
      restarts.push((await now()).status!.containerStatuses![0]!.restartCount)
    }
    expect(restarts).toEqual([1, 1, 2, 2, 3])
    expect((await now()).status?.containerStatuses?.[0]?.lastState?.terminated).toMatchObject({
      exitCode: 1,
      reason: 'Error',
    })
  })

  it('are not ready before ready-after', async () => {
    expect(ready(await run({}, { [`${P}ready-after`]: '5s' }))).toBe('False')
    await advance(5000)
    expect(ready(await now())).toBe('True')
  })

  it('wait for readiness gates', async () => {
    expect(ready(await run({ readinessGates: [{ conditionType: 'x.y/z' }] }))).toBe('False')
    const conditions = [...(await now()).status!.conditions!, { type: 'x.y/z', status: 'True' }]
    await pods().patch('p', { status: { conditions } }, { subresource: 'status' })
    await settle()
    expect(ready(await now())).toBe('True')
  })

  it('leave the pods of a killed node alone, and go on after its return', async () => {
    nodes.kill('a')
    expect((await run()).status?.phase).toBe('Pending')
    await nodes.revive('a')
    await settle()
    expect((await now()).status?.phase).toBe('Running')
  })

  it('tell what pods and nodes use', async () => {
    await run({}, { [`${P}cpu`]: '250m', [`${P}memory`]: '64Mi' })
    expect(nodes.metrics.pod('default', 'p')?.containers).toEqual([
      { name: 'c', usage: { cpu: '250m', memory: '64Mi' } },
    ])
    expect(nodes.metrics.node('a')?.usage).toEqual({ cpu: '250m', memory: '64Mi' })
    expect(nodes.metrics.nodes().map(({ metadata }) => metadata.name)).toEqual(['a', 'b'])
  })

  it('give pods of the host network the address of the node', async () => {
    expect((await run({ hostNetwork: true })).status?.podIP).toBe('172.18.0.2')
  })
})
