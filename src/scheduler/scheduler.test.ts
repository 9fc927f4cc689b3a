import { describe, expect, test } from 'vitest'
import { podKind } from '../api/kinds/core/pod/kind.ts'
import type { SchedulerConfiguration } from './configuration.ts'
import { asking, startWorkbench } from './workbench.contract.ts'

describe('scheduler', () => {
  test('gives nodes to pods and spreads them', async () => {
    await using bench = await startWorkbench()
    await bench.node('a')
    await bench.node('b')
    for (const name of ['p1', 'p2', 'p3', 'p4']) await bench.pod(name, asking('500m'))
    await bench.settled()
    const nodes = await Promise.all(['p1', 'p2', 'p3', 'p4'].map((name) => bench.nodeOf(name)))
    expect(nodes.sort()).toEqual(['a', 'a', 'b', 'b'])
    expect(bench.events).toContain(`p1 Scheduled: Successfully assigned default/p1 to ${await bench.nodeOf('p1')}`)
  })

  test('says why there is no node, and tries again when there is one', async () => {
    await using bench = await startWorkbench()
    await bench.node('small', { cpu: '1' })
    await bench.node('tainted', { taints: [{ key: 'dedicated', value: 'db', effect: 'NoSchedule' }] })
    await bench.node('cordoned', { unschedulable: true })
    await bench.pod('big', asking('2'))
    await bench.settled()
    const message =
      '0/3 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable. ' +
      'no new claims to deallocate, preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.'
    expect(bench.events).toEqual([`big FailedScheduling: ${message}`])
    const { status } = await bench.get('big')
    expect(status?.conditions).toMatchObject([
      { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message },
    ])
    await bench.node('large')
    await bench.settled()
    expect(await bench.nodeOf('big')).toBe('large')
  })

  test('leaves pods with gates alone until the last is gone', async () => {
    await using bench = await startWorkbench()
    await bench.node('a')
    await bench.pod('gated', { schedulingGates: [{ name: 'example.com/quota' }] })
    await bench.settled()
    expect(await bench.nodeOf('gated')).toBeUndefined()
    expect(bench.events).toEqual([])
    await bench.client
      .resource(podKind)
      .namespace('default')
      .patch('gated', { spec: { schedulingGates: [] } })
    await bench.settled()
    expect(await bench.nodeOf('gated')).toBe('a')
  })

  test('pods for other schedulers are not ours', async () => {
    await using bench = await startWorkbench()
    await bench.node('a')
    await bench.pod('foreign', { schedulerName: 'somebody-else' })
    await bench.settled()
    expect(await bench.nodeOf('foreign')).toBeUndefined()
  })

  test('the same host port once per node', async () => {
    await using bench = await startWorkbench()
    await bench.node('a')
    await bench.node('b')
    const port = (hostIP?: string) => ({
      containers: [
        { name: 'main', image: 'x', ports: [{ containerPort: 80, hostPort: 8080, ...(hostIP && { hostIP }) }] },
      ],
    })
    await bench.pod('p1', port())
    await bench.pod('p2', port('127.0.0.1'))
    await bench.pod('p3', port('127.0.0.1'))
    await bench.settled()
    const nodes = await Promise.all(['p1', 'p2', 'p3'].map((name) => bench.nodeOf(name)))
    expect(new Set(nodes)).toEqual(new Set(['a', 'b', undefined]))
  })

  test('a restart loses no pod and binds none twice', async () => {
    await using bench = await startWorkbench()
    for (let i = 0; i < 5; i++) await bench.node(`node-${i}`)
    const creating = Promise.all(Array.from({ length: 100 }, (_, i) => bench.pod(`p${i}`, asking('100m'))))
    for (let i = 0; i < 5; i++) {
      await new Promise(setImmediate)
      await bench.restart()
    }
    await creating
    await bench.settled()
    const { items } = await bench.client.resource(podKind).namespace('default').list()
    expect(items.filter(({ spec }) => !spec?.nodeName)).toEqual([])
    const perNode = new Map<string, number>()
    for (const { spec } of items) perNode.set(spec!.nodeName!, (perNode.get(spec!.nodeName!) ?? 0) + 1)
    expect(Math.max(...perNode.values())).toBeLessThanOrEqual(40)
  })

  test('pods that wait are woken by what they wait for', async () => {
    await using bench = await startWorkbench()
    await bench.node('a', { cpu: '1' })
    for (let i = 0; i < 5; i++) await bench.pod(`p${i}`, { ...asking('1'), terminationGracePeriodSeconds: 0 })
    await bench.settled()
    for (let i = 0; i < 5; i++) {
      expect(await bench.nodeOf(`p${i}`), `p${i}`).toBe('a')
      await bench.client.resource(podKind).namespace('default').delete(`p${i}`, { gracePeriodSeconds: 0 })
      await bench.settled()
    }
  })

  test('plugins of a user filter and score', async () => {
    const configuration: SchedulerConfiguration = {
      plugins: [
        {
          name: 'EvenOnly',
          filter: (_pod, { node }) => (Number(node.metadata.name!.slice(1)) % 2 === 0 ? undefined : 'node(s) were odd'),
          score: (_pod, { node }) => (node.metadata.name === 'n4' ? 10_000 : 0),
        },
      ],
    }
    await using bench = await startWorkbench({ configuration })
    await bench.node('n1')
    await bench.pod('p', asking('100m'))
    await bench.settled()
    expect(bench.events[0]).toMatch(
      /^p FailedScheduling: 0\/1 nodes are available: 1 node\(s\) were odd\. no new claims to deallocate, preemption: /,
    )
    await bench.node('n2')
    await bench.settled()
    for (const name of ['n3', 'n4']) await bench.node(name)
    await bench.settled()
    await bench.pod('q', asking('100m'))
    await bench.settled()
    expect([await bench.nodeOf('p'), await bench.nodeOf('q')]).toEqual(['n2', 'n4'])
  })

  test('a profile packs instead of spreading', async () => {
    const scoringStrategy = { type: 'MostAllocated', resources: [{ name: 'cpu', weight: 1 }] }
    const configuration: SchedulerConfiguration = {
      profiles: [
        {
          schedulerName: 'packer',
          pluginConfig: [{ name: 'NodeResourcesFit', args: { scoringStrategy } }],
          plugins: { score: { disabled: [{ name: 'NodeResourcesBalancedAllocation' }] } },
        },
      ],
    }
    await using bench = await startWorkbench({ configuration })
    for (const name of ['a', 'b', 'c']) await bench.node(name)
    for (let i = 0; i < 4; i++) await bench.pod(`p${i}`, { ...asking('500m'), schedulerName: 'packer' })
    await bench.settled()
    const nodes = await Promise.all([0, 1, 2, 3].map((i) => bench.nodeOf(`p${i}`)))
    expect(new Set(nodes).size).toBe(1)
  })

  test('explains a decision', async () => {
    await using bench = await startWorkbench()
    await bench.node('a')
    await bench.node('b', { labels: { disk: 'ssd' } })
    await bench.node('c', { taints: [{ key: 'k', effect: 'NoSchedule' }], labels: { disk: 'ssd' } })
    await bench.pod('p', { ...asking('1'), nodeSelector: { disk: 'ssd' } })
    await bench.settled()
    const explanation = bench.scheduler.explain(await bench.get('p'))
    expect(explanation.rejected).toEqual([
      { node: 'a', plugin: 'NodeAffinity', reasons: ["node(s) didn't match Pod's node affinity/selector"] },
      { node: 'c', plugin: 'TaintToleration', reasons: ['node(s) had untolerated taint(s)'] },
    ])
    expect(explanation.scored).toEqual([
      {
        node: 'b',
        total: 474,
        scores: { TaintToleration: 300, NodeResourcesFit: 87, NodeResourcesBalancedAllocation: 87 },
      },
    ])
    expect(await bench.nodeOf('p')).toBe('b')
  })
})
