import { describe, expect, it } from 'vitest'
import { VirtualClock } from '../../base/virtual-clock.ts'
import type { Change } from '../../store/store.ts'
import { encodeObject, stamped } from '../registry/encoding.ts'
import { ResourceCache } from './resource-cache.ts'
import type { EventBatch, ObjectFilter } from './watcher.ts'

const PREFIX = '/registry/things/'
const ALL: ObjectFilter = { id: 'all', keyPrefix: PREFIX, exactKey: false, matches: undefined }

const put = (name: string, revision: number): Change => {
  const key = PREFIX + name
  const value = Buffer.from(
    `{"kind":"Thing","apiVersion":"v1","metadata":{"resourceVersion":"${revision}","name":"${name}"}}`,
  )
  return { key, revision, entry: { key, value, revision, created: revision }, previous: undefined }
}

class Listener {
  readonly batches: string[][] = []
  ended = false
  deliver(batch: EventBatch): void {
    this.batches.push(batch.events.map(({ type, object }) => `${type} ${object.key.slice(PREFIX.length)}`))
  }
  end(): void {
    this.ended = true
  }
}

function crowdOf(size: number) {
  const clock = new VirtualClock(0)
  const cache = new ResourceCache(PREFIX, [], 1, clock)
  const listeners = Array.from({ length: size }, () => new Listener())
  for (const listener of listeners) cache.subscribe(ALL, listener)
  return { clock, cache, listeners }
}

describe('ResourceCache', () => {
  it('knows the parsed form of what this process writes, and of nothing else', () => {
    const cache = new ResourceCache(PREFIX, [], 1, new VirtualClock(0))
    const write = (name: string, revision: number, written = name): Change => {
      const key = PREFIX + name
      const value = stamped(encodeObject({ kind: 'Thing', apiVersion: 'v1', metadata: { name: written } }), revision)
      return { key, revision, entry: { key, value, revision, created: revision }, previous: undefined }
    }
    const encoded = encodeObject({ kind: 'Thing', apiVersion: 'v1', metadata: { name: 'a' } })
    cache.announce(`${PREFIX}a`, encoded)
    cache.apply([write('a', 2, 'of another process')])
    expect(cache.get(`${PREFIX}a`)?.known).toBeUndefined()
    cache.apply([write('a', 3)])
    expect(cache.get(`${PREFIX}a`)?.known).toBe(encoded.object)
    expect(encoded.object.metadata.resourceVersion).toBe('3')
  })

  it('tells a few watchers at once', () => {
    const { cache, listeners } = crowdOf(3)
    cache.apply([put('a', 2)])
    for (const listener of listeners) expect(listener.batches).toEqual([['ADDED a']])
  })

  it('tells a crowd together what happened within a moment', () => {
    const { clock, cache, listeners } = crowdOf(100)
    cache.apply([put('a', 2)])
    cache.apply([put('b', 3)])
    expect(listeners[0]!.batches).toEqual([])
    clock.advance(20)
    for (const listener of listeners) expect(listener.batches).toEqual([['ADDED a', 'ADDED b']])
    cache.apply([put('c', 4)])
    clock.advance(20)
    expect(listeners[99]!.batches.at(-1)).toEqual(['ADDED c'])
  })

  it('does not tell one who joins what the others still wait for', () => {
    const { clock, cache, listeners } = crowdOf(100)
    cache.apply([put('a', 2)])
    const late = new Listener()
    cache.subscribe(ALL, late)
    expect(listeners[0]!.batches).toEqual([['ADDED a']])
    cache.apply([put('b', 3)])
    clock.advance(20)
    expect(late.batches).toEqual([['ADDED b']])
    expect(listeners[0]!.batches).toEqual([['ADDED a'], ['ADDED b']])
  })

  it('tells what waits on demand, and before it ends', () => {
    const { cache, listeners } = crowdOf(100)
    cache.apply([put('a', 2)])
    cache.flush(ALL)
    expect(listeners[0]!.batches).toEqual([['ADDED a']])
    cache.apply([put('b', 3)])
    cache.close()
    expect(listeners[0]).toMatchObject({ ended: true, batches: [['ADDED a'], ['ADDED b']] })
  })
})
