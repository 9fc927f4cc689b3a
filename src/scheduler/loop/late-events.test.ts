import { expect, test } from 'vitest'
import { systemClock } from '../../base/clock.ts'
import type { EventRecorder } from '../../client/events.ts'
import { LateEvents } from './late-events.ts'

const pod = (name: string) => ({ metadata: { name, namespace: 'default', uid: name } })
const ALL = 1000

test('stops telling as soon as something new happens, also where telling waits for nothing', async () => {
  let told = 0
  const recorder: EventRecorder = {
    event() {
      told++
      // Comes in its own turn of the event loop, as decisions do.
      if (told === 1) setImmediate(() => late.event(pod('new'), 'Normal', 'Scheduled', 'news'))
    },
    flushed: async () => {},
    [Symbol.asyncDispose]: async () => {},
  }
  const late = new LateEvents(recorder, systemClock)
  for (let i = 0; i < ALL; i++) late.event(pod(`p${i}`), 'Normal', 'Scheduled', 'yes')
  while (told === 0 || late.isBusy) await new Promise((resolve) => setImmediate(resolve))
  expect(told).toBeLessThan(ALL)
  expect(late.waiting).toBe(ALL + 1 - told)
  await late.stop()
})
