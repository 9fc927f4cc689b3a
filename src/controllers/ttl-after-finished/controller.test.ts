import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { jobKind } from '../../api/kinds/batch/job/kind.ts'
import { formatTime } from '../../api/meta/time.ts'
import { VirtualClock } from '../../base/virtual-clock.ts'
import { type ControlPlane, startControlPlane } from '../../testing/control-plane.ts'
import { ttlAfterFinishedController } from './controller.ts'

let plane: ControlPlane
let clock: VirtualClock
beforeEach(async () => {
  clock = new VirtualClock()
  plane = await startControlPlane({ clock, controllers: [ttlAfterFinishedController] })
})
afterEach(() => plane[Symbol.asyncDispose]())

const jobs = () => plane.client.resource(jobKind).namespace('default')
const isDeleted = async () =>
  (await jobs().list()).items.every(({ metadata }) => metadata.deletionTimestamp !== undefined)

async function create(ttlSecondsAfterFinished?: number) {
  const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } }
  const ttl = ttlSecondsAfterFinished === undefined ? {} : { ttlSecondsAfterFinished }
  await jobs().create({ metadata: { name: 'j' }, spec: { template, ...ttl } })
}
async function finish() {
  const time = formatTime(clock.now())
  const conditions = ['FailureTarget', 'Failed'].map((type) => ({
    type,
    status: 'True',
    lastTransitionTime: time,
    lastProbeTime: time,
  }))
  await jobs().patch('j', { status: { startTime: time, conditions } }, { subresource: 'status' })
}
async function pass(seconds: number) {
  await plane.settled()
  await clock.advanceAsync(seconds * 1000)
  await plane.settled()
}

describe('ttlAfterFinishedController', () => {
  it('deletes a job when its time is over, not before', async () => {
    await create(100)
    await pass(1000)
    expect(await isDeleted()).toBe(false)
    await finish()
    await pass(99)
    expect(await isDeleted()).toBe(false)
    await pass(2)
    expect(await isDeleted()).toBe(true)
    expect((await jobs().get('j')).metadata.finalizers).toContain('foregroundDeletion')
  })

  it('keeps a job without a time to live', async () => {
    await create()
    await finish()
    await pass(1_000_000)
    expect(await isDeleted()).toBe(false)
  })

  it('heeds a time to live that is changed afterwards', async () => {
    await create(100)
    await finish()
    await pass(50)
    await jobs().patch('j', { spec: { ttlSecondsAfterFinished: 1000 } })
    await pass(100)
    expect(await isDeleted()).toBe(false)
    await jobs().patch('j', { spec: { ttlSecondsAfterFinished: 0 } })
    await pass(0)
    expect(await isDeleted()).toBe(true)
  })
})
