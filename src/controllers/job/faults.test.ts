import { describe, expect, it } from 'vitest'
import type { Job } from '../../api/generated/batch-v1.ts'
import type { Pod } from '../../api/generated/core-v1.ts'
import { jobKind } from '../../api/kinds/batch/job/kind.ts'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import { formatTime } from '../../api/meta/time.ts'
import { seededRandom } from '../../base/random.ts'
import { VirtualClock } from '../../base/virtual-clock.ts'
import { startControlPlane } from '../../testing/control-plane.ts'
import { jobController } from './controller.ts'
import { FaultyController } from './faults.fixture.ts'
import { isJobFinished } from './outcome.ts'

const INDEX = 'batch.kubernetes.io/job-completion-index'

describe('a job whose controller is killed and whose writes get lost', () => {
  it.each([1, 2, 3, 4, 5, 6])('counts every pod once (seed %i)', async (seed) => {
    const random = seededRandom(seed)
    const clock = new VirtualClock()
    await using plane = await startControlPlane({ clock, random: seededRandom(seed + 100) })
    await using controller = new FaultyController(plane.client.transport, clock, random, 0.2, jobController)
    const jobs = plane.client.resource(jobKind).namespace('default')
    const pods = plane.client.resource(podKind).namespace('default')
    const isIndexed = seed % 2 === 0
    await jobs.create({
      metadata: { name: 'work' },
      spec: {
        completions: 12,
        parallelism: 5,
        backoffLimit: 1000,
        ...(isIndexed && { completionMode: 'Indexed' }),
        template: { spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'work' }] } },
      },
    })
    const ended = new Map<string, { phase: string; index: string | undefined }>()
    const endSome = async () => {
      for (const pod of (await pods.list()).items) {
        if (ended.has(pod.metadata.uid!) || random.next() < 0.5) continue
        const phase = random.next() < 0.3 ? 'Failed' : 'Succeeded'
        await pods.patch(pod.metadata.name!, { status: endStatus(phase, clock.now()) }, { subresource: 'status' })
        ended.set(pod.metadata.uid!, { phase, index: pod.metadata.annotations?.[INDEX] })
      }
    }
    let job: Job = await jobs.get('work')
    for (let step = 0; step < 400 && !isJobFinished(job); step++) {
      if (step % 7 === 0) await controller.restart()
      // Virtual time must not outrun what is on its way: no watch is minutes late.
      await controller.settled()
      await clock.advanceAsync(1000 + random.next() * 60_000)
      const active = (await pods.list()).items.filter(isLive)
      expect(active.length).toBeLessThanOrEqual(5)
      await endSome()
      job = await jobs.get('work')
    }
    const count = (phase: string) => [...ended.values()].filter((one) => one.phase === phase).length
    expect(job.status?.conditions?.at(-1)).toMatchObject({ type: 'Complete', status: 'True' })
    expect(job.status?.failed ?? 0).toBe(count('Failed'))
    expect(job.status?.succeeded).toBe(12)
    if (isIndexed) expect(job.status?.completedIndexes).toBe('0-11')
    else expect(count('Succeeded')).toBe(12)
    expect(job.status?.uncountedTerminatedPods ?? {}).toEqual({})
  })
})

const isLive = ({ status }: Pod) => status?.phase !== 'Succeeded' && status?.phase !== 'Failed'

function endStatus(phase: string, now: number) {
  const terminated = { exitCode: phase === 'Failed' ? 1 : 0, finishedAt: formatTime(now) }
  const status = { name: 'main', state: { terminated }, ready: false, restartCount: 0, image: 'work', imageID: '' }
  return { phase, containerStatuses: [status] }
}
