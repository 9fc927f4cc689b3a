import { expect, test } from 'vitest'
import { aborted, DeadlineError, deadline, linkAbort, unlessAborted } from './abort.ts'
import { VirtualClock } from './virtual-clock.ts'

test('aborts with the first parent and its reason', () => {
  const [a, b] = [new AbortController(), new AbortController()]
  const linked = linkAbort(a.signal, undefined, b.signal)
  b.abort('second')
  a.abort('first')
  expect(linked.signal.reason).toBe('second')
})

test('is aborted from the start if a parent is', () => {
  expect(linkAbort(AbortSignal.abort('gone')).signal.reason).toBe('gone')
})

test('after dispose parents no longer reach it', () => {
  const parent = new AbortController()
  const linked = linkAbort(parent.signal)
  linked[Symbol.dispose]()
  parent.abort()
  expect(linked.signal.aborted).toBe(false)
})

test('its own abort leaves the parent alone', () => {
  const parent = new AbortController()
  linkAbort(parent.signal).abort('mine')
  expect(parent.signal.aborted).toBe(false)
})

test('a deadline fires at its time, not before, and not once disposed', () => {
  const clock = new VirtualClock()
  const kept = deadline(clock, 100)
  const dropped = deadline(clock, 100)
  dropped[Symbol.dispose]()
  clock.advance(99)
  expect(kept.signal.aborted).toBe(false)
  clock.advance(1)
  expect(kept.signal.reason).toBeInstanceOf(DeadlineError)
  expect(dropped.signal.aborted).toBe(false)
  expect(clock.pending).toBe(0)
})

test('a parent that aborts cancels the timer', () => {
  const clock = new VirtualClock()
  const parent = new AbortController()
  deadline(clock, 100, parent.signal)
  parent.abort()
  expect(clock.pending).toBe(0)
})

test('unlessAborted() gives what comes first', async () => {
  const controller = new AbortController()
  const { signal } = controller
  expect(await unlessAborted(Promise.resolve(1), undefined)).toBe(1)
  expect(await unlessAborted(Promise.resolve(2), signal)).toBe(2)
  await expect(unlessAborted(Promise.reject(new Error('failed')), signal)).rejects.toThrow('failed')
  const waiting = unlessAborted(new Promise(() => {}), signal)
  controller.abort(new Error('stopped'))
  await expect(waiting).rejects.toThrow('stopped')
  await expect(unlessAborted(Promise.resolve(3), signal)).rejects.toThrow('stopped')
})

test('aborted() resolves now or later', async () => {
  await aborted(AbortSignal.abort())
  const controller = new AbortController()
  const waiting = aborted(controller.signal)
  controller.abort()
  await waiting
})
