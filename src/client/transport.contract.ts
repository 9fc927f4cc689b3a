import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { KubernetesObject } from '../api/meta/object.ts'
import { createClient, type ResourceClient } from './client.ts'
import type { ResourceType, Transport, WatchEvent } from './transport.ts'

/** What every transport must do, against an API that has config maps in the namespace `default`. */
export interface TransportSubject extends AsyncDisposable {
  readonly transport: Transport
}

interface ConfigMap extends KubernetesObject {
  data?: Record<string, string>
}

const CONFIG_MAPS: ResourceType = { group: '', version: 'v1', plural: 'configmaps', namespaced: true }
const configMap = (name: string, value: string, labels?: Record<string, string>): ConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, ...(labels && { labels }) },
  data: { value },
})

export function transportContract(name: string, setUp: () => Promise<TransportSubject>): void {
  describe(`transport contract: ${name}`, () => {
    let subject: TransportSubject
    let maps: ResourceClient<ConfigMap>
    let stop: AbortController

    beforeEach(async () => {
      subject = await setUp()
      maps = createClient(subject.transport).resource<ConfigMap>(CONFIG_MAPS).namespace('default')
      stop = new AbortController()
    })
    afterEach(async () => {
      stop.abort()
      await subject[Symbol.asyncDispose]()
    })

    test('create, get, update, patch, list, delete', async () => {
      const created = await maps.create(configMap('a', '1', { app: 'x' }))
      expect(created.metadata).toMatchObject({ name: 'a', namespace: 'default', resourceVersion: expect.any(String) })
      expect(await maps.get('a')).toEqual(created)
      const updated = await maps.update({ ...created, data: { value: '2' } })
      expect(updated.metadata.resourceVersion).not.toBe(created.metadata.resourceVersion)
      const patched = await maps.patch('a', { data: { more: 'ü€😀' } })
      expect(patched.data).toEqual({ value: '2', more: 'ü€😀' })
      await maps.create(configMap('b', '1'))
      const names = async (labelSelector: string) =>
        (await maps.list({ labelSelector })).items.map((m) => m.metadata.name)
      expect(await names('app=x')).toEqual(['a'])
      expect(await names('app!=x')).toContain('b')
      await maps.delete('a')
      await expect(maps.get('a')).rejects.toMatchObject({ code: 404 })
    })

    test.each([
      ['a missing object', () => maps.get('missing'), 404, 'NotFound'],
      ['a second create', () => maps.create(configMap('twice', '2')), 409, 'AlreadyExists'],
      [
        'a stale update',
        () => maps.update({ ...configMap('twice', '3'), metadata: { name: 'twice', resourceVersion: '1' } }),
        409,
        'Conflict',
      ],
    ])('%s is an ApiError with its Status', async (_, attempt, code, reason) => {
      await maps.create(configMap('twice', '1'))
      await expect(attempt()).rejects.toMatchObject({ name: 'ApiError', code, reason })
    })

    test('an aborted call rejects', async () => {
      await expect(maps.get('a', { signal: AbortSignal.abort(new Error('stop')) })).rejects.toThrow()
    })

    test('a watch delivers what happens after its revision, in order, until aborted', async () => {
      await maps.create(configMap('before', '1'))
      const { metadata } = await maps.list()
      const seen = collect(maps.watch({ resourceVersion: metadata.resourceVersion!, signal: stop.signal }))
      const a = await maps.create(configMap('a', '1'))
      await maps.update({ ...a, data: { value: '2' } })
      await maps.delete('a')
      await seen.until(3)
      expect(seen.events.map((event) => [event.type, event.object.metadata.name, event.object.data?.value])).toEqual([
        ['ADDED', 'a', '1'],
        ['MODIFIED', 'a', '2'],
        ['DELETED', 'a', '2'],
      ])
      stop.abort()
      await seen.ended
    })

    test('a watch with a selector delivers what matches', async () => {
      const { metadata } = await maps.list()
      const watch = maps.watch({
        resourceVersion: metadata.resourceVersion!,
        labelSelector: 'app=x',
        signal: stop.signal,
      })
      const seen = collect(watch)
      await maps.create(configMap('no', '1'))
      await maps.create(configMap('yes', '1', { app: 'x' }))
      await seen.until(1)
      expect(seen.events.map((event) => event.object.metadata.name)).toEqual(['yes'])
    })

    test('a thousand large events arrive whole and in order', async () => {
      const { metadata } = await maps.list()
      const seen = collect(maps.watch({ resourceVersion: metadata.resourceVersion!, signal: stop.signal }))
      const text = 'é'.repeat(500)
      for (let i = 0; i < 1000; i += 50) {
        await Promise.all(Array.from({ length: 50 }, (_, j) => maps.create(configMap(`m${i + j}`, `${i + j}${text}`))))
      }
      await seen.until(1000)
      expect(new Set(seen.events.map((event) => event.object.metadata.name)).size).toBe(1000)
      for (const event of seen.events)
        expect(event.object.data!.value).toBe(event.object.metadata.name!.slice(1) + text)
      const revisions = seen.events.map((event) => Number(event.object.metadata.resourceVersion))
      expect(revisions).toEqual(revisions.toSorted((a, b) => a - b))
    })
  })
}

interface Collected<E> {
  readonly events: E[]
  /** Resolves when so many events have come. */
  until(count: number): Promise<void>
  readonly ended: Promise<void>
}

function collect<E extends Pick<WatchEvent, 'type'>>(watch: AsyncIterable<readonly E[]>): Collected<E> {
  const events: E[] = []
  let wake = () => {}
  const ended = (async () => {
    for await (const batch of watch) {
      events.push(...batch)
      wake()
    }
  })()
  ended.catch(() => {})
  const until = async (count: number) => {
    while (events.length < count) {
      await Promise.race([
        new Promise<void>((resolve) => {
          wake = resolve
        }),
        ended.then(() => {
          throw new Error(`the watch ended after ${events.length} of ${count} events`)
        }),
      ])
    }
  }
  return { events, until, ended }
}
