import { describe, expect, test } from 'vitest'
import {
  type Condition,
  findCondition,
  isConditionFalse,
  isConditionTrue,
  withCondition,
  withoutCondition,
} from './conditions.ts'
import { parsePercent, scaledValue } from './int-or-string.ts'

const ready: Condition = { type: 'Ready', status: 'True', reason: 'Ok', lastTransitionTime: 'then' }

describe('conditions', () => {
  test('the transition time moves only with the status', () => {
    const list = [ready]
    expect(withCondition(list, { type: 'Ready', status: 'True', reason: 'Ok' }, 'now')).toBe(list)
    expect(withCondition(list, { type: 'Ready', status: 'True', reason: 'New' }, 'now')).toEqual([
      { ...ready, reason: 'New' },
    ])
    expect(withCondition(list, { type: 'Ready', status: 'False' }, 'now')).toEqual([
      { ...ready, status: 'False', lastTransitionTime: 'now' },
    ])
    expect(list).toEqual([ready])
  })

  test('a new one is added at the end, a removed one is gone', () => {
    const two = withCondition([ready], { type: 'Bound', status: 'Unknown' }, 'now')
    expect(two[1]).toEqual({ type: 'Bound', status: 'Unknown', lastTransitionTime: 'now' })
    expect(withoutCondition(two, 'Ready')).toEqual([two[1]])
    expect(withoutCondition(two, 'Other')).toBe(two)
  })

  test('questions', () => {
    expect(findCondition(undefined, 'Ready')).toBeUndefined()
    expect(isConditionTrue([ready], 'Ready')).toBe(true)
    expect(isConditionFalse([ready], 'Ready')).toBe(false)
  })
})

test.each([
  [3, 10, 'up', 3],
  ['25%', 10, 'up', 3],
  ['25%', 10, 'down', 2],
  ['100%', 7, 'down', 7],
  ['0%', 7, 'up', 0],
  ['200%', 7, 'up', 14],
  ['3', 10, 'up', undefined],
  ['x%', 10, 'up', undefined],
] as const)('%s of %i rounded %s is %s', (value, total, rounding, scaled) => {
  expect(scaledValue(value, total, rounding)).toBe(scaled)
})

test('percentages', () => {
  expect([parsePercent('25%'), parsePercent(25), parsePercent('%')]).toEqual([25, undefined, undefined])
})
