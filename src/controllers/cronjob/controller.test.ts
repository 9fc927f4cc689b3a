import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { CronJob, CronJobSpec, Job } from '../../api/generated/batch-v1.ts'
import { cronJobKind } from '../../api/kinds/batch/cron-job/kind.ts'
import { jobKind } from '../../api/kinds/batch/job/kind.ts'
import { formatTime } from '../../api/meta/time.ts'
import { VirtualClock } from '../../base/virtual-clock.ts'
import { type ControlPlane, startControlPlane } from '../../testing/control-plane.ts'
import { cronJobController } from './controller.ts'

const START = Date.UTC(2026, 0, 1, 10, 0, 30)
const minutes = (n: number) => n * 60
const FIRST = Math.floor(START / 60_000)

let plane: ControlPlane
let clock: VirtualClock
beforeEach(async () => {
  clock = new VirtualClock(START)
  plane = await startControlPlane({ controllers: [cronJobController], clock })
})
afterEach(async () => plane[Symbol.asyncDispose]())

const cronJobs = () => plane.client.resource(cronJobKind).namespace('default')
const jobClient = () => plane.client.resource(jobKind).namespace('default')

function make(spec: Partial<CronJobSpec> = {}): Promise<CronJob> {
  const jobSpec = { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'work' }] } } }
  const jobTemplate = { metadata: { labels: { team: 'red' } }, spec: jobSpec }
  return cronJobs().create({ metadata: { name: 'tick' }, spec: { schedule: '* * * * *', jobTemplate, ...spec } })
}
async function pass(seconds: number): Promise<void> {
  await plane.settled()
  await clock.advanceAsync(seconds * 1000)
  await plane.settled()
}
async function cronJob(): Promise<CronJob> {
  await plane.settled()
  return await cronJobs().get('tick')
}
async function names(): Promise<string[]> {
  await plane.settled()
  return (await jobClient().list()).items.map(({ metadata }) => metadata.name!).sort()
}
const nameAt = (minute: number) => `tick-${FIRST + minute}`
const active = async () => ((await cronJob()).status?.active ?? []).map(({ name }) => name)

/** As the job controller would. */
async function finish(name: string, type: 'Complete' | 'Failed' = 'Complete'): Promise<void> {
  const time = formatTime(clock.now())
  const interim = type === 'Complete' ? 'SuccessCriteriaMet' : 'FailureTarget'
  const conditions = [interim, type].map((one) => ({ type: one, status: 'True', lastTransitionTime: time }))
  const status = { startTime: time, ...(type === 'Complete' && { completionTime: time }), conditions }
  await jobClient().patch(name, { status }, { subresource: 'status' })
  await plane.settled()
}

it('makes a job each time it is due', async () => {
  const { metadata } = await make({ timeZone: 'Europe/Berlin' })
  await pass(29)
  expect(await names()).toEqual([])
  await pass(2)
  expect(await names()).toEqual([nameAt(1)])
  const job: Job = await jobClient().get(nameAt(1))
  expect(job.metadata).toMatchObject({
    labels: { team: 'red' },
    annotations: { 'batch.kubernetes.io/cronjob-scheduled-timestamp': '2026-01-01T11:01:00+01:00' },
    ownerReferences: [{ kind: 'CronJob', name: 'tick', uid: metadata.uid, controller: true }],
  })
  expect((await cronJob()).status).toMatchObject({
    active: [{ kind: 'Job', apiVersion: 'batch/v1', name: nameAt(1), uid: job.metadata.uid }],
    lastScheduleTime: '2026-01-01T10:01:00Z',
  })
  await finish(nameAt(1))
  expect((await cronJob()).status).toEqual({
    lastScheduleTime: '2026-01-01T10:01:00Z',
    lastSuccessfulTime: formatTime(clock.now()),
  })
  await pass(minutes(1))
  expect(await names()).toEqual([nameAt(1), nameAt(2)])
  expect(plane.events).toEqual([
    `SuccessfulCreate: Created job ${nameAt(1)}`,
    `SawCompletedJob: Saw completed job: ${nameAt(1)}, condition: Complete`,
    `SuccessfulCreate: Created job ${nameAt(2)}`,
  ])
})

describe('while a job still runs', () => {
  it('Allow starts another', async () => {
    await make()
    await pass(minutes(2))
    expect(await active()).toEqual([nameAt(1), nameAt(2)])
  })

  it('Forbid waits until it has ended', async () => {
    await make({ concurrencyPolicy: 'Forbid' })
    await pass(minutes(2))
    expect(await names()).toEqual([nameAt(1)])
    expect(plane.events).toContain(
      'JobAlreadyActive: Not starting job because prior execution is running and concurrency policy is Forbid',
    )
    await finish(nameAt(1))
    expect(await active()).toEqual([nameAt(2)])
  })

  it('Replace deletes it', async () => {
    await make({ concurrencyPolicy: 'Replace' })
    await pass(minutes(2))
    expect([await names(), await active()]).toEqual([[nameAt(2)], [nameAt(2)]])
    expect(plane.events).toContain(`SuccessfulDelete: Deleted job ${nameAt(1)}`)
  })
})

it('keeps as many finished jobs as the limits say', async () => {
  await make({ successfulJobsHistoryLimit: 1, failedJobsHistoryLimit: 1 })
  for (const [minute, type] of [
    [1, 'Failed'],
    [2, 'Complete'],
    [3, 'Failed'],
    [4, 'Complete'],
  ] as const) {
    await pass(minutes(1))
    await finish(nameAt(minute), type)
  }
  expect(await names()).toEqual([nameAt(3), nameAt(4)])
})

describe('missed times', () => {
  it('of a suspended one are made up for by one job', async () => {
    await make({ suspend: true })
    await pass(minutes(10))
    expect(await names()).toEqual([])
    await cronJobs().patch('tick', { spec: { suspend: false } })
    expect(await names()).toEqual([nameAt(10)])
  })

  it('beyond the starting deadline are left out', async () => {
    await make({ schedule: '0 * * * *', suspend: true, startingDeadlineSeconds: 60 })
    await pass(minutes(65))
    await cronJobs().patch('tick', { spec: { suspend: false } })
    expect(await names()).toEqual([])
    await pass(minutes(55))
    expect(await names()).toEqual([nameAt(120)])
  })

  it('more than a hundred are worth a warning', async () => {
    await make({ suspend: true })
    await pass(minutes(200))
    await cronJobs().patch('tick', { spec: { suspend: false } })
    expect(await names()).toEqual([nameAt(200)])
    expect(plane.events).toContain(
      'TooManyMissedTimes: too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew',
    )
  })
})

it('a new schedule holds from now on', async () => {
  await make({ schedule: '0 0 1 1 *' })
  await pass(minutes(10))
  await cronJobs().patch('tick', { spec: { schedule: '*/5 * * * *' } })
  expect(await names()).toEqual([])
  await pass(minutes(5))
  expect(await names()).toEqual([nameAt(15)])
})

it('a job that exists already is taken over, not made again', async () => {
  const { metadata, spec } = await make({ suspend: true })
  const ownerReferences = [
    { apiVersion: 'batch/v1', kind: 'CronJob', name: 'tick', uid: metadata.uid!, controller: true },
  ]
  await jobClient().create({ metadata: { name: nameAt(1), ownerReferences }, spec: spec.jobTemplate.spec! })
  await pass(31)
  await cronJobs().patch('tick', { spec: { suspend: false } })
  expect([await names(), await active()]).toEqual([[nameAt(1)], [nameAt(1)]])
})

it('an active job that went missing is forgotten', async () => {
  await make()
  await pass(31)
  await jobClient().delete(nameAt(1), { propagationPolicy: 'Background' })
  expect(await active()).toEqual([])
  expect(plane.events).toContain(`MissingJob: Active job went missing: ${nameAt(1)}`)
})

it('a schedule that never comes is told', async () => {
  await make({ schedule: '59 23 31 2 *' })
  await plane.settled()
  expect(plane.events).toEqual([
    'InvalidSchedule: invalid schedule: 59 23 31 2 * : time difference between two schedules is less than 1 second',
  ])
})
