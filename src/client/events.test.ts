import { beforeEach, expect, test } from 'vitest'
import { ApiError } from '../api/meta/api-error.ts'
import type { KubernetesObject } from '../api/meta/object.ts'
import { silentLogger } from '../base/log.ts'
import { seededRandom } from '../base/random.ts'
import { VirtualClock } from '../base/virtual-clock.ts'
import { createClient } from './client.ts'
import { createEventRecorder, type EventRecorder } from './events.ts'
import { FakeApi } from './fake/fake-api.ts'

interface Event extends KubernetesObject {
  message: string
  count: number
  firstTimestamp: string
  lastTimestamp: string
  involvedObject: object
}

const EVENTS = { group: '', version: 'v1', plural: 'events', namespaced: true }
const pod = (name = 'web'): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'shop', uid: `uid-${name}` },
})
let api: FakeApi
let clock: VirtualClock
let recorder: EventRecorder

beforeEach(() => {
  api = new FakeApi()
  clock = new VirtualClock(Date.UTC(2026, 0, 1))
  recorder = createEventRecorder({
    client: createClient(api),
    clock,
    random: seededRandom(1),
    log: silentLogger,
    component: 'scheduler',
  })
})

async function stored(): Promise<Event[]> {
  await clock.advanceAsync(200_000)
  await recorder.flushed()
  return (await createClient(api).resource<Event>(EVENTS).list()).items
}
const summary = (events: Event[]) => events.map((event) => `${event.message} x${event.count}`).toSorted()

test('an event says what happened to what, and who saw it', async () => {
  recorder.event(pod(), 'Warning', 'FailedScheduling', 'no nodes')
  const [event] = await stored()
  expect(event).toMatchObject({
    metadata: { namespace: 'shop', name: expect.stringMatching(/^web\.[0-9a-f]+$/) },
    involvedObject: { apiVersion: 'v1', kind: 'Pod', namespace: 'shop', name: 'web', uid: 'uid-web' },
    type: 'Warning',
    reason: 'FailedScheduling',
    message: 'no nodes',
    source: { component: 'scheduler' },
    firstTimestamp: '2026-01-01T00:00:00Z',
    count: 1,
  })
})

test('the same again raises the count of one event', async () => {
  for (let i = 0; i < 3; i++) {
    recorder.event(pod(), 'Normal', 'Pulled', 'image there')
    clock.advance(60_000)
  }
  const events = await stored()
  expect(summary(events)).toEqual(['image there x3'])
  expect([events[0]!.firstTimestamp, events[0]!.lastTimestamp]).toEqual([
    '2026-01-01T00:00:00Z',
    '2026-01-01T00:02:00Z',
  ])
})

test('another message, object or a long pause makes another event', async () => {
  recorder.event(pod(), 'Normal', 'Pulled', 'a')
  recorder.event(pod(), 'Normal', 'Pulled', 'b')
  recorder.event(pod('db'), 'Normal', 'Pulled', 'a')
  await clock.advanceAsync(11 * 60_000)
  recorder.event(pod(), 'Normal', 'Pulled', 'a')
  expect(summary(await stored())).toEqual(['a x1', 'a x1', 'a x1', 'b x1'])
})

test('many different messages for one reason are combined', async () => {
  for (let i = 0; i < 15; i++) recorder.event(pod(), 'Warning', 'Failed', `message ${i}`)
  const events = await stored()
  expect(events).toHaveLength(11)
  expect(summary(events).filter((text) => text.startsWith('(combined'))).toEqual([
    '(combined from similar events): message 14 x5',
  ])
})

test('an object that floods is cut off after a burst, and others are not', async () => {
  for (let i = 0; i < 100; i++) recorder.event(pod(), 'Warning', `Reason${i}`, 'x')
  recorder.event(pod('db'), 'Warning', 'Fine', 'x')
  expect(await stored()).toHaveLength(26)
})

test('an event that expired is made anew with its count', async () => {
  recorder.event(pod(), 'Normal', 'Pulled', 'a')
  const [first] = await stored()
  await createClient(api).resource(EVENTS).namespace('shop').delete(first!.metadata.name!)
  recorder.event(pod(), 'Normal', 'Pulled', 'a')
  expect(summary(await stored())).toEqual(['a x2'])
})

test('failures of the server are tried again, refusals are not', async () => {
  api.failNextCall(new ApiError(503, 'ServiceUnavailable', 'down'))
  recorder.event(pod(), 'Normal', 'Kept', 'kept')
  expect(summary(await stored())).toEqual(['kept x1'])
  api.failNextCall(new ApiError(403, 'Forbidden', 'no'))
  recorder.event(pod(), 'Normal', 'Refused', 'refused')
  expect(summary(await stored())).toEqual(['kept x1'])
})

test('after dispose nothing waits', async () => {
  api.failNextCall(new ApiError(503, 'ServiceUnavailable', 'down'))
  recorder.event(pod(), 'Normal', 'A', 'a')
  await clock.advanceAsync(1)
  await recorder[Symbol.asyncDispose]()
  recorder.event(pod(), 'Normal', 'B', 'b')
  expect(clock.pending).toBe(0)
  expect(api.calls).toHaveLength(1)
})
