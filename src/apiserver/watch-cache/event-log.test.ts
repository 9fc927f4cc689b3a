import { describe, expect, it } from 'vitest'
import { EventLog } from './event-log.ts'

const event = (revision: number) => ({ revision, current: undefined, previous: undefined })
const revisions = (log: EventLog, after: number) => log.after(after)?.map((one) => one.revision)

describe('EventLog', () => {
  it('gives what came after a revision', () => {
    const log = new EventLog(10, 100)
    for (const revision of [11, 13, 13, 17]) log.append(event(revision))
    expect(revisions(log, 10)).toEqual([11, 13, 13, 17])
    expect(revisions(log, 12)).toEqual([13, 13, 17])
    expect(revisions(log, 13)).toEqual([17])
    expect(revisions(log, 99)).toEqual([])
  })

  it('says so when it does not reach back', () => {
    const log = new EventLog(10, 100)
    expect(revisions(log, 9)).toBeUndefined()
  })

  it('forgets the oldest, never half a commit', () => {
    const log = new EventLog(0, 3)
    for (const revision of [1, 1, 2, 3]) log.append(event(revision))
    expect(log.completeSince).toBe(1)
    expect(revisions(log, 0)).toBeUndefined()
    expect(revisions(log, 1)).toEqual([2, 3])
  })

  it('keeps no more than its capacity over a long life', () => {
    const log = new EventLog(0, 10)
    for (let revision = 1; revision <= 1000; revision++) log.append(event(revision))
    expect(log.completeSince).toBe(990)
    expect(revisions(log, 990)).toHaveLength(10)
  })
})
