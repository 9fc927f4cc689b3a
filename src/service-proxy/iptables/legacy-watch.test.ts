import { expect, test } from 'vitest'
import { systemClock } from '../../base/clock.ts'
import { LegacyWatch } from './legacy-watch.ts'

/** Tables whose rules are a word, and take a while to look at. */
function start(takes = 0) {
  let now = 0
  const tables = { IPv4: 'a' as string | undefined, IPv6: 'b' as string | undefined, looks: 0 }
  const fingerprint = (family: 'IPv4' | 'IPv6') => {
    now += takes
    tables.looks++
    return tables[family]
  }
  const watch = new LegacyWatch({ fingerprint }, { ...systemClock, now: () => now })
  watch.remember(['IPv4', 'IPv6'])
  const later = (time: number) => {
    now += time
  }
  return { tables, watch, later }
}

test('a change of others is seen at the next look, until our own commands have run', () => {
  const { tables, watch } = start()
  expect(watch.isAsLeft()).toBe(true)
  tables.IPv6 = 'changed'
  expect(watch.isAsLeft()).toBe(false)
  expect(watch.isAsLeft()).toBe(false)
  watch.forget()
  expect(watch.isAsLeft()).toBe(true)
  watch.remember(['IPv4', 'IPv6'])
  expect(watch.isAsLeft()).toBe(true)
})

test('what cannot be told is no change', () => {
  const { tables, watch } = start()
  tables.IPv4 = undefined
  expect(watch.isAsLeft()).toBe(true)
  tables.IPv4 = 'a'
  expect(watch.isAsLeft()).toBe(true)
  tables.IPv4 = 'changed'
  expect(watch.isAsLeft()).toBe(false)
})

test('large tables are looked at seldom, and not after each of our own commands', () => {
  const { tables, watch, later } = start(50)
  expect(tables.looks).toBe(2)
  watch.forget()
  watch.remember(['IPv4', 'IPv6'])
  tables.IPv4 = 'ours, as far as can be told'
  expect(watch.isAsLeft()).toBe(true)
  expect(tables.looks).toBe(2)
  later(10_000)
  expect(watch.isAsLeft()).toBe(true)
  expect(tables.looks).toBe(4)
  tables.IPv4 = 'changed'
  expect(watch.isAsLeft()).toBe(true)
  later(10_000)
  expect(watch.isAsLeft()).toBe(false)
})
