import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { leaseKind } from '../../api/kinds/coordination/lease.ts'
import { nodeKind } from '../../api/kinds/core/node/kind.ts'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import { formatMicroTime, formatTime } from '../../api/meta/time.ts'
import { VirtualClock } from '../../base/virtual-clock.ts'
import { type ControlPlane, startControlPlane } from '../../testing/control-plane.ts'
import { nodeLifecycleController } from './controller.ts'
import { Zones } from './zones.ts'

let plane: ControlPlane
let clock: VirtualClock
beforeEach(async () => {
  clock = new VirtualClock()
  plane = await startControlPlane({ clock, controllers: [nodeLifecycleController] })
})
afterEach(() => plane[Symbol.asyncDispose]())

const nodes = () => plane.client.resource(nodeKind)
const leases = () => plane.client.resource(leaseKind).namespace('kube-node-lease')
const conditions = (status = 'True') =>
  ['MemoryPressure', 'DiskPressure', 'PIDPressure', 'Ready'].map((type) => ({
    type,
    status: type === 'Ready' ? status : 'False',
    lastHeartbeatTime: formatTime(clock.now()),
  }))
const add = async (name: string, labels: Record<string, string> = {}) => {
  await nodes().create({ metadata: { name, labels }, status: { conditions: conditions() } })
  await leases().create({ metadata: { name }, spec: { renewTime: formatMicroTime(clock.now()) } })
}
const beat = (name: string) => leases().patch(name, { spec: { renewTime: formatMicroTime(clock.now()) } })
/** Time passes in steps in which all nodes but the silent ones beat. */
const pass = async (seconds: number, ...silent: string[]) => {
  for (let t = 0; t < seconds; t += 10) {
    await clock.advanceAsync(10_000)
    for (const { metadata } of (await nodes().list()).items)
      if (!silent.includes(metadata.name!)) await beat(metadata.name!)
    await plane.settled()
  }
}
const ready = async (name: string) => (await nodes().get(name)).status?.conditions?.find(({ type }) => type === 'Ready')
const taints = async (name: string) =>
  (await nodes().get(name)).spec?.taints?.map(({ key, effect }) => `${key}:${effect}`).sort() ?? []
const U = 'node.kubernetes.io/unreachable'

describe('nodeLifecycleController', () => {
  it('leaves nodes alone that beat', async () => {
    await add('a')
    const before = (await nodes().get('a')).metadata.resourceVersion
    await pass(200)
    expect((await nodes().get('a')).metadata.resourceVersion).toBe(before)
  })

  it('says Unknown of a silent node and taints it', async () => {
    await add('a')
    await add('b')
    await pass(40, 'a')
    expect((await ready('a'))?.status).toBe('True')
    await pass(20, 'a')
    expect(await ready('a')).toMatchObject({
      status: 'Unknown',
      reason: 'NodeStatusUnknown',
      message: 'Kubelet stopped posting node status.',
    })
    expect(await taints('a')).toEqual([`${U}:NoExecute`, `${U}:NoSchedule`])
    expect(await taints('b')).toEqual([])
    expect(plane.events).toContain('NodeNotReady: Node a status is now: NodeNotReady')
  })

  it('takes the taints off a node that returns', async () => {
    await add('a')
    await add('b')
    await pass(60, 'a')
    const node = await nodes().get('a')
    await nodes().updateStatus({ ...node, status: { ...node.status, conditions: conditions() } })
    await plane.settled()
    expect((await nodes().get('a')).spec).not.toHaveProperty('taints')
  })

  it('marks the pods of a silent node as not ready', async () => {
    await add('a')
    await add('b')
    const pods = plane.client.resource(podKind).namespace('default')
    await pods.create({ metadata: { name: 'p' }, spec: { nodeName: 'a', containers: [{ name: 'c', image: 'i' }] } })
    await pods.patch('p', { status: { conditions: [{ type: 'Ready', status: 'True' }] } }, { subresource: 'status' })
    await pass(60, 'a')
    expect((await pods.get('p')).status?.conditions?.find(({ type }) => type === 'Ready')?.status).toBe('False')
    expect(plane.events).toContain('NodeNotReady: Node is not ready')
  })

  it('drives nobody away while the whole cluster is silent', async () => {
    await add('a')
    await add('b')
    await pass(120, 'a', 'b')
    expect(await taints('a')).toEqual([`${U}:NoSchedule`])
    await pass(10, 'a')
    const node = await nodes().get('b')
    await nodes().updateStatus({ ...node, status: { ...node.status, conditions: conditions() } })
    await pass(20, 'a')
    expect(await taints('a')).toEqual([`${U}:NoExecute`, `${U}:NoSchedule`])
  })

  it.each([
    ['Ready', 'False', ['node.kubernetes.io/not-ready:NoExecute', 'node.kubernetes.io/not-ready:NoSchedule']],
    ['MemoryPressure', 'True', ['node.kubernetes.io/memory-pressure:NoSchedule']],
    ['DiskPressure', 'True', ['node.kubernetes.io/disk-pressure:NoSchedule']],
    ['PIDPressure', 'True', ['node.kubernetes.io/pid-pressure:NoSchedule']],
  ])('taints by condition: %s=%s', async (type, status, expected) => {
    await add('a')
    await add('b')
    const changed = conditions().map((condition) => (condition.type === type ? { ...condition, status } : condition))
    await nodes().patch('a', { status: { conditions: changed } }, { subresource: 'status' })
    await plane.settled()
    expect(await taints('a')).toEqual(expected)
  })

  it('taints a cordoned node, keeps the taints of others, and takes off its own', async () => {
    await add('a')
    await nodes().patch('a', { spec: { unschedulable: true, taints: [{ key: 'mine', effect: 'NoExecute' }] } })
    await plane.settled()
    expect(await taints('a')).toEqual(['mine:NoExecute', 'node.kubernetes.io/unschedulable:NoSchedule'])
    await nodes().patch('a', { spec: { unschedulable: null } })
    await plane.settled()
    expect(await taints('a')).toEqual(['mine:NoExecute'])
  })
})

describe('Zones', () => {
  const node = (name: string, zone = 'x') => ({ metadata: { name, labels: { 'topology.kubernetes.io/zone': zone } } })
  const zonesOf = (total: number, down: number) => {
    const zones = new Zones()
    for (let i = 0; i < total; i++) zones.set(node(`n${i}`), i >= down)
    return zones
  }
  it.each([
    [10, 0, 'Normal'],
    [2, 1, 'Normal'],
    [4, 2, 'Normal'],
    [10, 5, 'Normal'],
    [10, 6, 'PartialDisruption'],
    [10, 10, 'FullDisruption'],
    [1, 1, 'FullDisruption'],
  ])('%d nodes, %d down: %s', (total, down, expected) => {
    expect(zonesOf(total, down).stateOf('n0')).toBe(expected)
  })

  it('taints one node in ten seconds', () => {
    const zones = zonesOf(10, 3)
    expect([zones.turnIn('n0', 0), zones.turnIn('n1', 0), zones.turnIn('n1', 10_000)]).toEqual([0, 10_000, 0])
  })

  it('stops in a small zone that is half down, and slows down in a large one', () => {
    expect(zonesOf(10, 6).turnIn('n0', 0)).toBeUndefined()
    const large = zonesOf(100, 60)
    expect([large.turnIn('n0', 0), large.turnIn('n1', 0)]).toEqual([0, 100_000])
  })

  it('knows when everything is down', () => {
    const zones = zonesOf(2, 2)
    zones.set(node('other', 'y'), true)
    expect(zones.isAllDown).toBe(false)
    zones.set(node('other', 'y'), false)
    expect(zones.isAllDown).toBe(true)
    zones.delete('other')
    zones.set(node('n0'), true)
    expect(zones.isAllDown).toBe(false)
  })
})
