import { describe, expect, test } from 'vitest'
import type { WatchEvent } from '../../tools/event-stream.ts'
import { at, listAt, textAt } from '../../tools/json.ts'
import { expectStatus, useCluster } from '../../tools/use-cluster.ts'

const NAMESPACE = 'watching'
const CONFIG_MAPS = `/api/v1/namespaces/${NAMESPACE}/configmaps`
const server = useCluster(NAMESPACE)

const configMap = (name: string, label: string, data = '0') => ({
  metadata: { name, labels: { watch: label } },
  data: { mutation: data },
})
const version = async (path: string) => textAt((await server.api.get(path)).object, 'metadata.resourceVersion')
const watchOf = (label: string, query = '') =>
  server.api.watch(`${CONFIG_MAPS}?watch=1&labelSelector=watch%3D${label}${query}`)
const brief = (event: WatchEvent | undefined) =>
  `${event?.type} ${at(event?.object, 'metadata.name')} ${at(event?.object, 'data.mutation')}`

describe('watch', () => {
  test('observes add, update and delete', async () => {
    const from = await version(CONFIG_MAPS)
    const both = await server.api.watch(
      `${CONFIG_MAPS}?watch=1&resourceVersion=${from}&labelSelector=${encodeURIComponent('watch in (basic-a,basic-b)')}`,
    )
    const onlyA = await watchOf('basic-a', `&resourceVersion=${from}`)
    await server.api.create(CONFIG_MAPS, configMap('basic-a', 'basic-a'))
    await server.api.patch(`${CONFIG_MAPS}/basic-a`, { data: { mutation: '1' } })
    await server.api.create(CONFIG_MAPS, configMap('basic-b', 'basic-b'))
    await server.api.delete(`${CONFIG_MAPS}/basic-a`)
    await server.api.delete(`${CONFIG_MAPS}/basic-b`)
    const a = ['ADDED basic-a 0', 'MODIFIED basic-a 1']
    const seenByBoth = await both.until(
      (event) => event.type === 'DELETED' && at(event.object, 'metadata.name') === 'basic-b',
    )
    expect(seenByBoth.map(brief)).toEqual([...a, 'ADDED basic-b 0', 'DELETED basic-a 1', 'DELETED basic-b 0'])
    const seenByA = await onlyA.until((event) => event.type === 'DELETED')
    expect(seenByA.map(brief)).toEqual([...a, 'DELETED basic-a 1'])
    both.close()
    onlyA.close()
  })

  test('starts at a resource version', async () => {
    const made = await server.api.create(CONFIG_MAPS, configMap('from', 'from'))
    const first = await server.api.patch(`${CONFIG_MAPS}/from`, { data: { mutation: '1' } })
    await server.api.patch(`${CONFIG_MAPS}/from`, { data: { mutation: '2' } })
    await server.api.delete(`${CONFIG_MAPS}/from`)
    const watch = await watchOf('from', `&resourceVersion=${textAt(first.object, 'metadata.resourceVersion')}`)
    expect([await watch.next(), await watch.next()].map(brief)).toEqual(['MODIFIED from 2', 'DELETED from 2'])
    watch.close()
    expect(made.status).toBe(201)
  })

  test('the version of a DELETED event is that of the deletion, so a watch can resume after it', async () => {
    const made = await server.api.create(CONFIG_MAPS, configMap('tomb', 'tomb'))
    const start = textAt(made.object, 'metadata.resourceVersion')
    const watch = await watchOf('tomb', `&resourceVersion=${start}`)
    await server.api.delete(`${CONFIG_MAPS}/tomb`)
    const deleted = await watch.next()
    expect(Number(at(deleted?.object, 'metadata.resourceVersion'))).toBeGreaterThan(Number(start))
    watch.close()
    const resumed = await watchOf('tomb', `&resourceVersion=${at(deleted?.object, 'metadata.resourceVersion')}`)
    await server.api.create(CONFIG_MAPS, configMap('tomb', 'tomb', 'again'))
    expect(brief(await resumed.next())).toBe('ADDED tomb again')
    resumed.close()
  })

  test('resumes where another watch ended', async () => {
    const from = await version(CONFIG_MAPS)
    const first = await watchOf('resume', `&resourceVersion=${from}`)
    await server.api.create(CONFIG_MAPS, configMap('resume', 'resume'))
    const last = await first.next()
    first.close()
    await server.api.patch(`${CONFIG_MAPS}/resume`, { data: { mutation: '1' } })
    await server.api.delete(`${CONFIG_MAPS}/resume`)
    const second = await watchOf('resume', `&resourceVersion=${at(last?.object, 'metadata.resourceVersion')}`)
    expect([await second.next(), await second.next()].map(brief)).toEqual(['MODIFIED resume 1', 'DELETED resume 1'])
    second.close()
  })

  test('an object that leaves the selector is DELETED, one that comes back ADDED', async () => {
    const watch = await watchOf('member', `&resourceVersion=${await version(CONFIG_MAPS)}`)
    await server.api.create(CONFIG_MAPS, configMap('moving', 'member'))
    await server.api.patch(`${CONFIG_MAPS}/moving`, {
      metadata: { labels: { watch: 'elsewhere' } },
      data: { mutation: '1' },
    })
    await server.api.patch(`${CONFIG_MAPS}/moving`, { data: { mutation: '2' } })
    await server.api.patch(`${CONFIG_MAPS}/moving`, { metadata: { labels: { watch: 'member' } } })
    await server.api.delete(`${CONFIG_MAPS}/moving`)
    const events = [await watch.next(), await watch.next(), await watch.next(), await watch.next()]
    // The deleted one is shown as it was while it still belonged.
    expect(events.map(brief)).toEqual(['ADDED moving 0', 'DELETED moving 0', 'ADDED moving 2', 'DELETED moving 2'])
    watch.close()
  })

  test('concurrent watches see the same order', async () => {
    const from = await version(CONFIG_MAPS)
    const writes = 40
    const watches = await Promise.all(Array.from({ length: 20 }, () => watchOf('order', `&resourceVersion=${from}`)))
    const writer = async (lane: number) => {
      for (let i = 0; i < writes / 4; i++) {
        expectStatus(await server.api.create(CONFIG_MAPS, configMap(`order-${lane}-${i}`, 'order')), 201)
      }
    }
    await Promise.all([0, 1, 2, 3].map(writer))
    const orders: string[][] = []
    for (const watch of watches) {
      const order: string[] = []
      while (order.length < writes) order.push(textAt((await watch.next())?.object, 'metadata.resourceVersion'))
      orders.push(order)
      watch.close()
    }
    const rising = [...(orders[0] as string[])].sort((a, b) => Number(a) - Number(b))
    expect(new Set(rising).size).toBe(writes)
    for (const order of orders) expect(order).toEqual(rising)
  })

  test('without a version it starts with what is there', async () => {
    await server.api.create(CONFIG_MAPS, configMap('initial', 'initial'))
    for (const query of ['', '&resourceVersion=0']) {
      const watch = await watchOf('initial', query)
      expect(brief(await watch.next())).toBe('ADDED initial 0')
      watch.close()
    }
  })

  test('one object is watched by its name', async () => {
    const from = await version(CONFIG_MAPS)
    const watch = await server.api.watch(
      `${CONFIG_MAPS}?watch=1&resourceVersion=${from}&fieldSelector=metadata.name%3Dchosen`,
    )
    await server.api.create(CONFIG_MAPS, configMap('other', 'named'))
    await server.api.create(CONFIG_MAPS, configMap('chosen', 'named'))
    expect(brief(await watch.next())).toBe('ADDED chosen 0')
    watch.close()
  })

  test('sendInitialEvents ends the initial list with a marked bookmark', async () => {
    await server.api.create(CONFIG_MAPS, configMap('streamed', 'streamed'))
    const watch = await watchOf(
      'streamed',
      '&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&resourceVersion=',
    )
    expect(brief(await watch.next())).toBe('ADDED streamed 0')
    const bookmark = await watch.next()
    expect(bookmark?.type).toBe('BOOKMARK')
    expect(at(bookmark?.object, 'metadata.annotations.[k8s.io/initial-events-end]')).toBe('true')
    expect(at(bookmark?.object, 'metadata.resourceVersion')).toMatch(/^[1-9]\d*$/)
    watch.close()
  })

  test('timeoutSeconds ends it cleanly', async () => {
    const watch = await watchOf('timeout', '&timeoutSeconds=1')
    expect(await watch.next(15_000)).toBeUndefined()
  })

  test('a version in the future is no reason to hang', async () => {
    const far = await server.api.get(`${CONFIG_MAPS}?resourceVersion=99999999&resourceVersionMatch=Exact`)
    expect(far.status).toBeGreaterThanOrEqual(400)
    expect(far.object).toMatchObject({ kind: 'Status', status: 'Failure' })
  })

  test('as a Table: columns once, then rows', async () => {
    const table = 'application/json;as=Table;v=v1;g=meta.k8s.io'
    const from = await version(CONFIG_MAPS)
    const watch = await server.api.watch(`${CONFIG_MAPS}?watch=1&resourceVersion=${from}&labelSelector=watch%3Dtable`, {
      accept: table,
    })
    await server.api.create(CONFIG_MAPS, configMap('table-1', 'table'))
    await server.api.create(CONFIG_MAPS, configMap('table-2', 'table'))
    const [first, second] = [await watch.next(), await watch.next()]
    expect(first?.object).toMatchObject({ kind: 'Table', apiVersion: 'meta.k8s.io/v1' })
    expect(listAt(first?.object, 'columnDefinitions').length).toBeGreaterThan(2)
    expect(at(second?.object, 'columnDefinitions') ?? []).toEqual([])
    expect(at(second?.object, 'rows.0.object.metadata.name')).toBe('table-2')
    watch.close()
  })

  test('as PartialObjectMetadata', async () => {
    const partial = 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io'
    await server.api.create(CONFIG_MAPS, configMap('partial', 'partial'))
    const watch = await server.api.watch(`${CONFIG_MAPS}?watch=1&labelSelector=watch%3Dpartial`, { accept: partial })
    const event = await watch.next()
    expect(event?.object).toMatchObject({
      kind: 'PartialObjectMetadata',
      apiVersion: 'meta.k8s.io/v1',
      metadata: { name: 'partial' },
    })
    expect(at(event?.object, 'data')).toBeUndefined()
    watch.close()
  })
})
