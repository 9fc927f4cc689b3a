import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Job, JobSpec } from '../../api/generated/batch-v1.ts'
import type { Pod, PodSpec } from '../../api/generated/core-v1.ts'
import { jobKind } from '../../api/kinds/batch/job/kind.ts'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import { formatTime } from '../../api/meta/time.ts'
import { VirtualClock } from '../../base/virtual-clock.ts'
import { type ControlPlane, startControlPlane } from '../../testing/control-plane.ts'
import { jobController } from './controller.ts'

let plane: ControlPlane
let clock: VirtualClock
beforeEach(async () => {
  clock = new VirtualClock()
  plane = await startControlPlane({ controllers: [jobController], clock })
})
afterEach(async () => plane[Symbol.asyncDispose]())

const jobs = () => plane.client.resource(jobKind).namespace('default')
const podClient = () => plane.client.resource(podKind).namespace('default')

function make(spec: Partial<JobSpec> = {}, podSpec: Partial<PodSpec> = {}): Promise<Job> {
  const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'work' }], ...podSpec } }
  return jobs().create({ metadata: { name: 'work' }, spec: { template, ...spec } })
}
async function job(): Promise<Job> {
  await plane.settled()
  return await jobs().get('work')
}
async function pods(): Promise<Pod[]> {
  await plane.settled()
  const { items } = await podClient().list()
  return items.sort((a, b) => (indexOf(a) ?? '').localeCompare(indexOf(b) ?? ''))
}
const INDEX = 'batch.kubernetes.io/job-completion-index'
const indexOf = (pod: Pod) => pod.metadata.annotations?.[INDEX]
const isLive = ({ status }: Pod) => status?.phase !== 'Succeeded' && status?.phase !== 'Failed'
const livePods = async () => (await pods()).filter(isLive)

/** As a kubelet would report the end of a pod's container. */
async function end(pod: Pod | undefined, exitCode: number): Promise<void> {
  const terminated = { exitCode, finishedAt: formatTime(clock.now()) }
  const status = {
    phase: exitCode === 0 ? 'Succeeded' : 'Failed',
    containerStatuses: [
      { name: 'main', state: { terminated }, ready: false, restartCount: 0, image: 'work', imageID: '' },
    ],
  }
  await podClient().patch(pod!.metadata.name!, { status }, { subresource: 'status' })
}
const endFirst = async (exitCode: number) => end((await livePods())[0], exitCode)
const conditions = async () =>
  ((await job()).status?.conditions ?? []).filter(({ status }) => status === 'True').map((c) => `${c.type}:${c.reason}`)
async function pass(seconds: number): Promise<void> {
  await plane.settled()
  await clock.advanceAsync(seconds * 1000)
  await plane.settled()
}

describe('a job', () => {
  it('runs one pod to its end', async () => {
    const { metadata } = await make()
    const [pod] = await pods()
    expect(pod?.metadata).toMatchObject({
      generateName: 'work-',
      finalizers: ['batch.kubernetes.io/job-tracking'],
      labels: { 'job-name': 'work', 'batch.kubernetes.io/controller-uid': metadata.uid },
      ownerReferences: [{ kind: 'Job', uid: metadata.uid, controller: true }],
    })
    expect((await job()).status).toMatchObject({
      active: 1,
      ready: 0,
      terminating: 0,
      startTime: formatTime(clock.now()),
    })
    await endFirst(0)
    expect((await job()).status).toMatchObject({
      succeeded: 1,
      uncountedTerminatedPods: {},
      completionTime: formatTime(clock.now()),
    })
    expect((await job()).status?.active).toBe(undefined)
    expect(await conditions()).toEqual(['SuccessCriteriaMet:CompletionsReached', 'Complete:CompletionsReached'])
    expect((await pods())[0]?.metadata.finalizers ?? []).toEqual([])
    expect(plane.events).toEqual([`SuccessfulCreate: Created pod: ${pod!.metadata.name}`, 'Completed: Job completed'])
  })

  it('keeps parallelism pods running until all completions are reached', async () => {
    await make({ completions: 3, parallelism: 2 })
    expect(await pods()).toHaveLength(2)
    await endFirst(0)
    expect([(await livePods()).length, (await job()).status?.succeeded]).toEqual([2, 1])
    await endFirst(0)
    expect((await livePods()).length).toBe(1)
    await endFirst(0)
    expect([await conditions(), (await job()).status?.succeeded, await livePods()]).toEqual([
      ['SuccessCriteriaMet:CompletionsReached', 'Complete:CompletionsReached'],
      3,
      [],
    ])
  })

  it('without completions is done when one pod has succeeded and the others have ended', async () => {
    await make({ parallelism: 2 })
    await endFirst(0)
    expect([await conditions(), (await livePods()).length]).toEqual([[], 1])
    await endFirst(1)
    expect(await conditions()).toContain('Complete:CompletionsReached')
  })

  it('counts a pod once, however often it is looked at, and follows parallelism', async () => {
    await make({ completions: 10, parallelism: 4 })
    await endFirst(0)
    await jobs().patch('work', { spec: { parallelism: 2 } })
    expect((await livePods()).length).toBe(2)
    await jobs().patch('work', { spec: { parallelism: 5 } })
    expect((await livePods()).length).toBe(5)
    expect((await job()).status).toMatchObject({ succeeded: 1, active: 5 })
    expect((await job()).status?.failed).toBe(undefined)
  })

  it('leaves jobs of other controllers alone', async () => {
    await make({ managedBy: 'example.com/other' })
    expect(await pods()).toEqual([])
  })

  it('lets its pods go when it is deleted', async () => {
    await make()
    const [pod] = await pods()
    await jobs().delete('work')
    await plane.settled()
    expect((await podClient().get(pod!.metadata.name!)).metadata.finalizers ?? []).toEqual([])
  })
})

describe('failures', () => {
  it('are tried again, later and later, up to the limit', async () => {
    await make({ backoffLimit: 2 })
    for (const wait of [10, 20]) {
      await endFirst(1)
      expect(await livePods()).toEqual([])
      await pass(wait - 1)
      expect(await livePods()).toEqual([])
      await pass(1)
      expect(await livePods()).toHaveLength(1)
    }
    await endFirst(1)
    expect(await conditions()).toEqual(['FailureTarget:BackoffLimitExceeded', 'Failed:BackoffLimitExceeded'])
    expect((await job()).status?.failed).toBe(3)
    expect(plane.events).toContain('BackoffLimitExceeded: Job has reached the specified backoff limit')
  })

  it('end the other pods of the job', async () => {
    await make({ parallelism: 3, completions: 3, backoffLimit: 0 })
    await endFirst(1)
    expect(await livePods()).toEqual([])
    expect((await job()).status).toMatchObject({ failed: 3 })
    expect(await conditions()).toContain('Failed:BackoffLimitExceeded')
  })

  it('of containers that restart in place count by their restarts', async () => {
    await make({ backoffLimit: 2 }, { restartPolicy: 'OnFailure' })
    const [pod] = await pods()
    const containerStatuses = [{ name: 'main', restartCount: 2, ready: false, image: 'work', imageID: '', state: {} }]
    await podClient().patch(
      pod!.metadata.name!,
      { status: { phase: 'Running', containerStatuses } },
      { subresource: 'status' },
    )
    expect(await conditions()).toContain('FailureTarget:BackoffLimitExceeded')
  })

  it('a pod that is deleted counts as failed and is replaced', async () => {
    await make()
    await podClient().delete((await pods())[0]!.metadata.name!)
    await pass(10)
    expect([(await livePods()).length, (await job()).status?.failed]).toEqual([1, 1])
  })

  it('a deadline ends the job', async () => {
    await make({ activeDeadlineSeconds: 30 })
    await pass(29)
    expect(await conditions()).toEqual([])
    await pass(1)
    expect(await conditions()).toEqual(['FailureTarget:DeadlineExceeded', 'Failed:DeadlineExceeded'])
    expect(await livePods()).toEqual([])
  })
})

describe('pod failure policy', () => {
  const policy = (action: string, values: number[]) => ({
    podFailurePolicy: { rules: [{ action, onExitCodes: { operator: 'In', values } }] },
  })

  it('FailJob ends the job at once', async () => {
    await make(policy('FailJob', [42]))
    const [pod] = await pods()
    await end(pod, 42)
    expect(await conditions()).toEqual(['FailureTarget:PodFailurePolicy', 'Failed:PodFailurePolicy'])
    expect((await job()).status?.conditions?.at(-1)?.message).toBe(
      `Container main for pod default/${pod!.metadata.name} failed with exit code 42 matching FailJob rule at index 0`,
    )
  })

  it('Ignore does not count', async () => {
    await make({ backoffLimit: 0, ...policy('Ignore', [42]) })
    await endFirst(42)
    await pass(10)
    expect([(await livePods()).length, (await job()).status?.failed, await conditions()]).toEqual([1, undefined, []])
  })

  it('by condition of the pod', async () => {
    const rules = [{ action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] }]
    await make({ backoffLimit: 0, podFailurePolicy: { rules } })
    const [pod] = await pods()
    const disrupted = [{ type: 'DisruptionTarget', status: 'True' }]
    await podClient().patch(
      pod!.metadata.name!,
      { status: { phase: 'Failed', conditions: disrupted } },
      { subresource: 'status' },
    )
    expect(await conditions()).toEqual([])
  })
})

describe('indexed', () => {
  const INDEXED = { completionMode: 'Indexed', completions: 4, parallelism: 4 }

  it('each index gets one pod that knows it', async () => {
    await make(INDEXED)
    const all = await pods()
    expect(all.map(indexOf)).toEqual(['0', '1', '2', '3'])
    expect(all[2]).toMatchObject({
      metadata: { generateName: 'work-2-', labels: { [INDEX]: '2' } },
      spec: {
        hostname: 'work-2',
        containers: [
          {
            env: [
              { name: 'JOB_COMPLETION_INDEX', valueFrom: { fieldRef: { fieldPath: `metadata.labels['${INDEX}']` } } },
            ],
          },
        ],
      },
    })
    for (const i of [0, 1, 3]) await end(all[i], 0)
    expect((await job()).status).toMatchObject({ succeeded: 3, completedIndexes: '0,1,3', active: 1 })
    await end(all[2], 0)
    expect((await job()).status).toMatchObject({ succeeded: 4, completedIndexes: '0-3' })
    expect(await conditions()).toContain('Complete:CompletionsReached')
  })

  it('grows and shrinks with its completions', async () => {
    await make(INDEXED)
    await pods()
    await jobs().patch('work', { spec: { completions: 2, parallelism: 2 } })
    expect((await livePods()).map(indexOf)).toEqual(['0', '1'])
    await jobs().patch('work', { spec: { completions: 3, parallelism: 3 } })
    expect((await livePods()).map(indexOf)).toEqual(['0', '1', '2'])
  })

  it('back-off by index: one that fails does not hold up the others', async () => {
    await make({ ...INDEXED, completions: 2, backoffLimitPerIndex: 1 })
    const [first, second] = await pods()
    await end(first, 1)
    await end(second, 0)
    expect(await conditions()).toEqual([])
    await pass(10)
    const [again] = await livePods()
    expect(again?.metadata.annotations).toMatchObject({
      [INDEX]: '0',
      'batch.kubernetes.io/job-index-failure-count': '1',
    })
    await end(again, 1)
    expect((await job()).status).toMatchObject({ failed: 2, succeeded: 1, failedIndexes: '0', completedIndexes: '1' })
    expect(await conditions()).toEqual(['FailureTarget:FailedIndexes', 'Failed:FailedIndexes'])
  })

  it('too many failed indexes end the job', async () => {
    await make({ ...INDEXED, backoffLimitPerIndex: 0, maxFailedIndexes: 1 })
    const all = await pods()
    await end(all[0], 1)
    expect(await conditions()).toEqual([])
    await end(all[1], 1)
    expect(await conditions()).toContain('Failed:MaxFailedIndexesExceeded')
  })

  it('FailIndex gives an index up at once', async () => {
    const rules = [{ action: 'FailIndex', onExitCodes: { operator: 'In', values: [7] } }]
    await make({ ...INDEXED, completions: 2, backoffLimitPerIndex: 5, podFailurePolicy: { rules } })
    await end((await pods())[0], 7)
    expect((await job()).status?.failedIndexes).toBe('0')
  })

  it.each<[string, object, number[]]>([
    ['these indexes', { succeededIndexes: '0,2' }, [0, 2]],
    ['any two', { succeededCount: 2 }, [1, 3]],
    ['two of these', { succeededIndexes: '1-3', succeededCount: 2 }, [1, 3]],
  ])('success policy: %s', async (_, rule, enough) => {
    await make({ ...INDEXED, successPolicy: { rules: [rule] } })
    const all = await pods()
    await end(all[enough[0]!], 0)
    expect(await conditions()).toEqual([])
    await end(all[enough[1]!], 0)
    expect(await conditions()).toEqual(['SuccessCriteriaMet:SuccessPolicy', 'Complete:SuccessPolicy'])
    expect((await job()).status?.conditions?.at(-1)?.message).toBe('Matched rules at index 0')
    expect([await livePods(), (await job()).status?.failed]).toEqual([[], undefined])
  })
})

describe('suspension', () => {
  it('removes the pods without counting them, and starts anew', async () => {
    await make({ suspend: true, parallelism: 2, completions: 2, activeDeadlineSeconds: 60 })
    expect([await pods(), (await job()).status?.startTime, await conditions()]).toEqual([
      [],
      undefined,
      ['Suspended:JobSuspended'],
    ])
    await pass(100)
    await jobs().patch('work', { spec: { suspend: false } })
    expect([(await pods()).length, (await job()).status?.startTime, await conditions()]).toEqual([
      2,
      formatTime(clock.now()),
      [],
    ])
    await jobs().patch('work', { spec: { suspend: true } })
    expect([await livePods(), (await job()).status?.failed]).toEqual([[], undefined])
    expect(plane.events.filter((event) => !event.includes('pod'))).toEqual([
      'Suspended: Job suspended',
      'Resumed: Job resumed',
      'Suspended: Job suspended',
    ])
  })
})

describe('replacement of terminating pods', () => {
  it.each([
    ['TerminatingOrFailed', 1],
    ['Failed', 0],
  ])('%s', async (podReplacementPolicy, count) => {
    await make({ podReplacementPolicy })
    const [pod] = await pods()
    const { name = '' } = pod!.metadata
    await podClient().patch(name, {
      metadata: { finalizers: ['batch.kubernetes.io/job-tracking', 'example.com/wait'] },
    })
    await podClient().delete(name)
    await pass(10)
    expect((await livePods()).filter(({ metadata }) => !metadata.deletionTimestamp)).toHaveLength(count)
    expect((await job()).status?.terminating).toBe(1)
  })
})
