import { describe, expect, it } from 'vitest'
import { VirtualClock } from '../../base/virtual-clock.ts'
import { CachedObject } from './cached-object.ts'
import type { EventBatch, ObjectEvent, Watcher } from './watcher.ts'
import { WatcherGroup } from './watcher-group.ts'

const added = (name: string): ObjectEvent => ({
  type: 'ADDED',
  object: new CachedObject({ key: name, value: Buffer.from('{}'), revision: 1 }),
})

class Listener implements Watcher {
  readonly batches: string[] = []
  ended = false
  /** Called when it is told something. */
  onDeliver = () => {}
  deliver(batch: EventBatch): void {
    this.batches.push(batch.events.map(({ object }) => object.key).join(' '))
    this.onDeliver()
  }
  end(): void {
    this.ended = true
  }
}

function groupOf(size: number) {
  const clock = new VirtualClock(0)
  const group = new WatcherGroup({ id: 'all', keyPrefix: '', exactKey: false, matches: undefined }, clock)
  const listeners = Array.from({ length: size }, () => new Listener())
  for (const listener of listeners) group.add(listener)
  return { clock, group, listeners, first: listeners[0]!, last: listeners.at(-1)! }
}

const nextTurn = () => new Promise((resolve) => setImmediate(resolve))
/** A crowd of a thousand is told in turns: enough of them. */
const allTold = async () => {
  for (let turn = 0; turn < 20; turn++) await nextTurn()
}
const join = (group: WatcherGroup) => {
  const late = new Listener()
  group.add(late)
  return late
}

describe('a few watchers', () => {
  it('are told at once', () => {
    const { group, listeners } = groupOf(3)
    group.take([added('a'), added('b')])
    group.take([added('c')])
    for (const { batches } of listeners) expect(batches).toEqual(['a b', 'c'])
  })
})

describe('a crowd', () => {
  it('is told at the next moment, and then together what happened while it rested', () => {
    const { clock, group, first, last } = groupOf(100)
    group.take([added('a')])
    expect(first.batches).toEqual([])
    clock.advance(0)
    expect(last.batches).toEqual(['a'])
    group.take([added('b')])
    group.take([added('c')])
    clock.advance(1)
    expect(last.batches).toEqual(['a'])
    clock.advance(1)
    expect(last.batches).toEqual(['a', 'b c'])
    clock.advance(1000)
    group.take([added('d')])
    clock.advance(0)
    expect(last.batches).toEqual(['a', 'b c', 'd'])
  })

  it('is told in turns, and rests after the last of them', async () => {
    const { clock, group, first, last } = groupOf(1000)
    group.take([added('a')])
    clock.advance(0)
    expect([first.batches, last.batches]).toEqual([['a'], []])
    group.take([added('b')])
    clock.advance(1000)
    expect(first.batches).toEqual(['a'])
    await allTold()
    expect([first.batches, last.batches]).toEqual([['a'], ['a']])
    clock.advance(20)
    await allTold()
    expect([first.batches, last.batches]).toEqual([
      ['a', 'b'],
      ['a', 'b'],
    ])
  })

  it('does not tell one who joins what it has seen', async () => {
    const { clock, group, first, last } = groupOf(1000)
    group.take([added('a')])
    const beforeAll = join(group)
    group.take([added('b')])
    const before = join(group)
    clock.advance(0)
    const during = join(group)
    group.take([added('c')])
    const after = join(group)
    await allTold()
    clock.advance(100)
    await allTold()
    expect([first.batches, last.batches]).toEqual([
      ['a b', 'c'],
      ['a b', 'c'],
    ])
    expect([beforeAll, before, during, after].map(({ batches }) => batches)).toEqual([['b', 'c'], ['c'], ['c'], []])
  })

  it('lets one catch up before the others, and tells it nothing twice', async () => {
    const { clock, group, first, last } = groupOf(1000)
    group.take([added('a')])
    clock.advance(0)
    group.take([added('b')])
    group.catchUp(first)
    group.catchUp(last)
    group.catchUp(last)
    expect([first.batches, last.batches]).toEqual([
      ['a', 'b'],
      ['a', 'b'],
    ])
    group.take([added('c')])
    await allTold()
    clock.advance(100)
    await allTold()
    expect([first.batches, last.batches]).toEqual([
      ['a', 'b', 'c'],
      ['a', 'b', 'c'],
    ])
  })

  it('does not tell one who leaves while it is told', async () => {
    const { clock, group, listeners, first, last } = groupOf(1000)
    first.onDeliver = () => {
      for (const one of [first, listeners[1]!, last]) group.remove(one)
    }
    group.take([added('a')])
    clock.advance(0)
    group.catchUp(last)
    await allTold()
    expect([first, listeners[1]!, last, listeners[2]!].map(({ batches }) => batches)).toEqual([['a'], [], [], ['a']])
  })

  it('is told in order when so many leave that it is none any more', async () => {
    const { clock, group, listeners, last } = groupOf(1000)
    group.take([added('a')])
    clock.advance(0)
    group.take([added('b')])
    for (const one of listeners.slice(0, -2)) group.remove(one)
    group.take([added('c')])
    expect(last.batches).toEqual(['a', 'b c'])
    await allTold()
    clock.advance(100)
    expect(last.batches).toEqual(['a', 'b c'])
  })

  it('is told all before it ends', () => {
    const { clock, group, listeners } = groupOf(1000)
    group.take([added('a')])
    clock.advance(0)
    group.take([added('b')])
    group.end()
    for (const { batches, ended } of listeners) expect([batches, ended]).toEqual([['a', 'b'], true])
  })
})
