import { describe, expect, test } from 'vitest'
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
    expect(bench.events).toContain('p1 Scheduled: Successfully assigned default/p1 to a')
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
      'preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.'
    expect(bench.events).toEqual([`big FailedScheduling: ${message}`])
    const { status } = await bench.get('big')
    expect(status?.conditions).toMatchObject([
      { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message },
    ])
    await bench.node('large')
    await bench.settled()
    expect(await bench.nodeOf('big')).toBe('large')
  })
})
