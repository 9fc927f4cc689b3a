import { describe, expect, it } from 'vitest'
import { ApiError } from '../../api/meta/api-error.ts'
import { VirtualClock } from '../../base/virtual-clock.ts'
import { UserRates } from './user-rates.ts'

const LIMIT = { perSecond: 10, burst: 20, exemptGroups: ['system:masters'] }
const alice = { name: 'alice', groups: ['system:authenticated'] }
const bob = { name: 'bob', groups: [] }
const admin = { name: 'alice', groups: ['a', 'system:masters'] }

/** How many of so many requests are let through. */
function taken(rates: UserRates, user: typeof alice, count: number): number {
  let passed = 0
  for (let i = 0; i < count; i++) {
    try {
      rates.take(user)
      passed++
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
    }
  }
  return passed
}

describe('UserRates', () => {
  it('lets a burst through, then as much as time brings', () => {
    const clock = new VirtualClock()
    const rates = new UserRates(clock, LIMIT)
    const passed = [taken(rates, alice, 100)]
    for (const pause of [50, 100, 1000, 60_000]) {
      clock.advance(pause)
      passed.push(taken(rates, alice, 100))
    }
    expect(passed).toEqual([20, 0, 1, 10, 20])
  })

  it('counts each user alone', () => {
    const rates = new UserRates(new VirtualClock(), LIMIT)
    expect([taken(rates, alice, 100), taken(rates, bob, 100)]).toEqual([20, 20])
  })

  it('does not count those who are exempt', () => {
    const rates = new UserRates(new VirtualClock(), LIMIT)
    expect([taken(rates, admin, 100), rates.size]).toEqual([100, 0])
  })

  it.each([
    [10, 1],
    [0.1, 10],
  ])('at %d per second says to come back in %d seconds', (perSecond, retryAfterSeconds) => {
    const rates = new UserRates(new VirtualClock(), { ...LIMIT, perSecond, burst: 1 })
    rates.take(alice)
    expect(() => rates.take(alice)).toThrow(
      expect.objectContaining({
        code: 429,
        reason: 'TooManyRequests',
        message: 'too many requests by "alice", please try again later',
        details: { retryAfterSeconds },
      }),
    )
  })

  it('forgets users who have been quiet, and only those', () => {
    const clock = new VirtualClock()
    const rates = new UserRates(clock, LIMIT)
    for (let i = 0; i < 5000; i++) {
      clock.advance(10)
      rates.take({ name: `user-${i}`, groups: [] })
    }
    expect(rates.size).toBeLessThan(1500)
    expect(taken(rates, { name: 'user-4999', groups: [] }, 100)).toBe(19)
  })

  it.each([{ perSecond: 0 }, { perSecond: Number.NaN }, { burst: 0 }])('a limit of %j is none', (change) => {
    expect(() => new UserRates(new VirtualClock(), { ...LIMIT, ...change })).toThrow('must let some requests through')
  })
})
