import { describe, expect, test } from 'vitest'
import { podKind } from '../api/kinds/core/pod/kind.ts'
import { conflict, objectNotFound } from '../api/meta/api-error.ts'
import { VirtualClock } from '../base/virtual-clock.ts'
import { asking, startWorkbench, type Workbench } from './workbench.contract.ts'

const PODS = { group: '', resource: 'pods' }
const CUT = new Error('the wire is cut')
const BACKOFF = 20_000

/** A scheduler whose first bindings fail. */
async function failing(error: Error, times = 1): Promise<{ bench: Workbench; clock: VirtualClock }> {
  const clock = new VirtualClock()
  let left = times
  const fault = ({ subresource }: { subresource?: string }) =>
    subresource === 'binding' && left-- > 0 ? error : undefined
  const bench = await startWorkbench({ clock, fault })
  await bench.node('a', { cpu: '1' })
  return { bench, clock }
}

const scheduled = (bench: Workbench, pod: string) =>
  bench.events.filter((text) => text.startsWith(`${pod} Scheduled:`)).length

describe('a binding that fails', () => {
  test('is tried again after a pause, longer each time', async () => {
    const { bench, clock } = await failing(CUT, 2)
    await using _ = bench
    await bench.pod('p', asking('1'))
    await bench.settled()
    expect(bench.events).toEqual(['p FailedScheduling: the wire is cut'])
    expect((await bench.get('p')).status?.conditions).toMatchObject([
      { type: 'PodScheduled', status: 'False', reason: 'SchedulerError', message: 'the wire is cut' },
    ])
    await clock.advanceAsync(1000)
    await bench.settled()
    expect(bench.events).toHaveLength(2)
    await clock.advanceAsync(1000)
    await bench.settled()
    expect(await bench.nodeOf('p')).toBeUndefined()
    await clock.advanceAsync(1000)
    await bench.settled()
    expect(await bench.nodeOf('p')).toBe('a')
  })

  test('holds no room meanwhile', async () => {
    const { bench, clock } = await failing(CUT)
    await using _ = bench
    await bench.pod('first', asking('1'))
    await bench.settled()
    await bench.pod('second', asking('1'))
    await bench.settled()
    expect(await bench.nodeOf('second')).toBe('a')
    await clock.advanceAsync(BACKOFF)
    await bench.settled()
    expect(await bench.nodeOf('first')).toBeUndefined()
  })

  test('because somebody else was faster leaves the pod to them, and their node counts', async () => {
    const { bench, clock } = await failing(conflict(PODS, 'p', 'pod p is already assigned to node "b"'))
    await using _ = bench
    await bench.pod('p', asking('1'))
    await bench.settled()
    await bench.node('b', { cpu: '1' })
    await bench.client
      .resource(podKind)
      .namespace('default')
      .subresource('create', 'p', 'binding', { metadata: { name: 'p' }, target: { kind: 'Node', name: 'b' } })
    await clock.advanceAsync(BACKOFF)
    await bench.settled()
    expect([await bench.nodeOf('p'), scheduled(bench, 'p')]).toEqual(['b', 0])
    await bench.pod('q', asking('1'))
    await bench.settled()
    expect(await bench.nodeOf('q')).toBe('a')
  })

  test('because the pod is gone is the end of it', async () => {
    const { bench, clock } = await failing(objectNotFound(PODS, 'p'))
    await using _ = bench
    await bench.pod('p', asking('1'))
    await bench.settled()
    await bench.client.resource(podKind).namespace('default').delete('p', { gracePeriodSeconds: 0 })
    await clock.advanceAsync(BACKOFF)
    await bench.settled()
    expect(bench.events).toEqual([])
    expect(bench.scheduler.pendingPods).toBe(0)
    await bench.pod('q', asking('1'))
    await bench.settled()
    expect(await bench.nodeOf('q')).toBe('a')
  })
})
