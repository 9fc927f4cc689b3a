import { describe, expect, it } from 'vitest'
import { VirtualClock } from '../../base/virtual-clock.ts'
import type { Change } from '../../store/store.ts'
import { encodeObject, stamped } from './encoding.ts'
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
  const cache = new ResourceCache(PREFIX, [], 1, new VirtualClock(0))
  const listeners = Array.from({ length: size }, () => new Listener())
  for (const listener of listeners) cache.subscribe(ALL, listener)
  return { cache, listeners }
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

  it('ends every watch when it is closed, after all was told', () => {
    const { cache, listeners } = crowdOf(100)
    cache.apply([put('a', 2)])
    cache.close()
    expect(listeners[99]).toMatchObject({ ended: true, batches: [['ADDED a']] })
  })

  it('forgets who has gone', () => {
    const cache = new ResourceCache(PREFIX, [], 1, new VirtualClock(0))
    const [gone, here] = [new Listener(), new Listener()]
    const subscription = cache.subscribe(ALL, gone)
    cache.subscribe(ALL, here)
    subscription.end()
    cache.apply([put('a', 2)])
    expect([gone.batches, here.batches]).toEqual([[], [['ADDED a']]])
    expect(cache.watcherCount).toBe(1)
  })
})
