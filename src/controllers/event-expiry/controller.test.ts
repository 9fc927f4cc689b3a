import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { eventKind } from '../../api/kinds/core/event/kind.ts'
import { formatTime } from '../../api/meta/time.ts'
import { VirtualClock } from '../../base/virtual-clock.ts'
import { type ControlPlane, startControlPlane } from '../../testing/control-plane.ts'
import { eventExpiryController } from './controller.ts'

const MINUTE = 60_000
let plane: ControlPlane
let clock: VirtualClock
beforeEach(async () => {
  clock = new VirtualClock()
  plane = await startControlPlane({ clock, controllers: [eventExpiryController] })
})
afterEach(() => plane[Symbol.asyncDispose]())

const events = () => plane.client.resource(eventKind).namespace('default')
const names = async () => (await events().list()).items.map(({ metadata }) => metadata.name).sort()
const create = (name: string) =>
  events().create({
    metadata: { name, namespace: 'default' },
    involvedObject: { kind: 'Pod', namespace: 'default', name: 'p' },
    reason: 'Started',
    type: 'Normal',
    lastTimestamp: formatTime(clock.now()),
  })
async function pass(minutes: number) {
  await plane.settled()
  await clock.advanceAsync(minutes * MINUTE)
  await plane.settled()
}

describe('eventExpiryController', () => {
  it('deletes events an hour old', async () => {
    await create('old')
    await pass(30)
    await create('young')
    await pass(29)
    expect(await names()).toEqual(['old', 'young'])
    await pass(2)
    expect(await names()).toEqual(['young'])
    await pass(30)
    expect(await names()).toEqual([])
  })

  it('counts from the last time it happened', async () => {
    await create('again')
    await pass(50)
    await events().patch('again', { lastTimestamp: formatTime(clock.now()), count: 2 })
    await pass(50)
    expect(await names()).toEqual(['again'])
    await pass(11)
    expect(await names()).toEqual([])
  })
})
