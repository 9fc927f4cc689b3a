import { describe, expect, test } from 'vitest'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import { podDisruptionBudgetKind } from '../../api/kinds/policy/pod-disruption-budget.ts'
import { priorityClassKind } from '../../api/kinds/scheduling/priority-class.ts'
import { asking, startWorkbench, type Workbench } from '../workbench.contract.ts'

const low = { priorityClassName: 'low', priority: 1 }
const middle = { priorityClassName: 'middle', priority: 50 }
const high = { priorityClassName: 'high', priority: 100 }

async function withPriorities(bench: Workbench): Promise<void> {
  for (const { priorityClassName, priority } of [low, middle, high])
    await bench.client.resource(priorityClassKind).create({ metadata: { name: priorityClassName }, value: priority })
}

const quick = { terminationGracePeriodSeconds: 0 }
const pods = (bench: Workbench) => bench.client.resource(podKind).namespace('default')
const names = async (bench: Workbench) => (await pods(bench).list()).items.map(({ metadata }) => metadata.name).sort()

describe('preemption', () => {
  test('the least important pod makes room, and tells why', async () => {
    await using bench = await startWorkbench()
    await withPriorities(bench)
    await bench.node('a', { cpu: '2' })
    await bench.pod('low', { ...asking('1'), ...low })
    await bench.pod('middle', { ...asking('1'), ...middle })
    await bench.settled()
    await bench.pod('high', { ...asking('1'), ...high })
    await bench.settled()
    // It has a grace period and nobody runs it: the victim stays until its kubelet says so.
    const victim = await bench.get('low')
    expect(victim.metadata.deletionTimestamp).toBeDefined()
    expect(victim.status?.conditions).toContainEqual(
      expect.objectContaining({
        type: 'DisruptionTarget',
        status: 'True',
        reason: 'PreemptionByScheduler',
        message: 'default-scheduler: preempting to accommodate a higher priority pod',
      }),
    )
    const { status, spec } = await bench.get('high')
    expect([status?.nominatedNodeName, spec?.nodeName]).toEqual(['a', undefined])
    await pods(bench).delete('low', { gracePeriodSeconds: 0 })
    await bench.settled()
    expect(await bench.nodeOf('high')).toBe('a')
    expect(await names(bench)).toEqual(['high', 'middle'])
  })

  test('never touches pods of equal priority, nor for a pod that must not preempt', async () => {
    await using bench = await startWorkbench()
    await withPriorities(bench)
    await bench.node('a', { cpu: '1' })
    await bench.pod('first', { ...asking('1'), ...middle, ...quick })
    await bench.settled()
    await bench.pod('equal', { ...asking('1'), ...middle })
    await bench.client
      .resource(priorityClassKind)
      .create({ metadata: { name: 'gentle' }, value: 1000, preemptionPolicy: 'Never' })
    await bench.pod('gentle', {
      ...asking('1'),
      priorityClassName: 'gentle',
      priority: 1000,
      preemptionPolicy: 'Never',
    })
    await bench.settled()
    expect(await bench.nodeOf('first')).toBe('a')
    expect((await bench.get('first')).metadata.deletionTimestamp).toBeUndefined()
    expect(bench.events.filter((text) => !text.includes('Scheduled:')).sort()).toEqual([
      'equal FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are available: ' +
        '1 No preemption victims found for incoming pod.',
      'gentle FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: not eligible due to ' +
        'preemptionPolicy=Never.',
    ])
  })

  test('prefers the node where no budget is broken, and evicts no more than needed', async () => {
    await using bench = await startWorkbench()
    await withPriorities(bench)
    await bench.node('guarded', { cpu: '2' })
    await bench.node('open', { cpu: '2' })
    const onto = (node: string, app: string) =>
      [
        { ...asking('1'), ...quick, ...low, nodeSelector: { 'kubernetes.io/hostname': node } },
        { labels: { app } },
      ] as const
    await bench.pod('g1', ...onto('guarded', 'g'))
    await bench.pod('g2', ...onto('guarded', 'g'))
    await bench.pod('o1', ...onto('open', 'o'))
    await bench.pod('o2', ...onto('open', 'o'))
    await bench.client
      .resource(podDisruptionBudgetKind)
      .namespace('default')
      .create({ metadata: { name: 'g' }, spec: { minAvailable: 2, selector: { matchLabels: { app: 'g' } } } })
    await bench.settled()
    await bench.pod('high', { ...asking('1'), ...high })
    await bench.settled()
    expect(await bench.nodeOf('high')).toBe('open')
    expect((await names(bench)).length).toBe(4)
  })

  test('a lesser pod does not take the room that was made for another', async () => {
    await using bench = await startWorkbench()
    await withPriorities(bench)
    await bench.node('a', { cpu: '1' })
    await bench.pod('victim', { ...asking('1'), ...low })
    await bench.settled()
    await bench.pod('high', { ...asking('1'), ...high })
    await bench.settled()
    await bench.pod('thief', { ...asking('1'), ...middle })
    await bench.settled()
    await pods(bench).delete('victim', { gracePeriodSeconds: 0 })
    await bench.settled()
    expect([await bench.nodeOf('high'), await bench.nodeOf('thief')]).toEqual(['a', undefined])
  })

  test('a higher preemptor takes over the node of a lower one', async () => {
    await using bench = await startWorkbench()
    await withPriorities(bench)
    await bench.node('a', { cpu: '1' })
    await bench.pod('victim', { ...asking('1'), ...low })
    await bench.settled()
    await bench.pod('middle', { ...asking('1'), ...middle })
    await bench.settled()
    expect((await bench.get('middle')).status?.nominatedNodeName).toBe('a')
    await bench.pod('high', { ...asking('1'), ...high })
    await bench.settled()
    await pods(bench).delete('victim', { gracePeriodSeconds: 0 })
    await bench.settled()
    expect([await bench.nodeOf('high'), await bench.nodeOf('middle')]).toEqual(['a', undefined])
    expect((await bench.get('middle')).status?.nominatedNodeName).toBeUndefined()
  })
})
