import { expect, it } from 'vitest'
import { configMapKind } from '../../api/kinds/core/config-map.ts'
import { encodeObject } from '../../api/protobuf/encode.ts'
import { systemClock } from '../../base/clock.ts'
import { listView, type ViewContext } from '../handlers/answer-body.ts'
import { ListBodies, listMetaOf } from '../handlers/list-body.ts'
import type { Negotiated } from '../http/media-type.ts'
import { Query } from '../request/query.ts'
import { CachedObject } from '../watch-cache/cached-object.ts'
import { isLargeList, listViewInTurns } from './large-list.ts'

const page = (count: number, size: number) => ({
  objects: Array.from({ length: count }, (_, i) => {
    const object = { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: `a${i}` }, data: { a: 'x'.repeat(size) } }
    return new CachedObject({ key: `/a${i}`, value: Buffer.from(JSON.stringify(object)), revision: 1 })
  }),
  revision: 5,
  continueToken: 'more',
  remaining: 7,
  identity: undefined,
})

const context = (as: string, format: string) =>
  ({
    negotiated: { as, format, metaVersion: 'v1', contentType: '' } as unknown as Negotiated,
    query: Query.parse(''),
    now: 0,
    lists: new ListBodies(systemClock),
  }) satisfies ViewContext

it.each([
  [0, 'Table', 'json'],
  [1, 'Table', 'json'],
  [50, 'Table', 'json'],
  [50, 'PartialObjectMetadataList', 'json'],
  [50, 'PartialObjectMetadataList', 'protobuf'],
])('writes %d objects as a %s in %s as a small list is written', async (count, as, format) => {
  const list = page(count, 10)
  const view = context(as, format)
  const whole = listView(configMapKind, list.objects, listMetaOf(list), view)
  const written = Buffer.concat(await listViewInTurns(configMapKind, list, view))
  expect(written).toEqual(format === 'json' ? Buffer.from(JSON.stringify(whole)) : encodeObject(whole))
})

it('counts the bytes of the objects', () => {
  expect(isLargeList(page(100, 100))).toBe(false)
  expect(isLargeList(page(3, 100_000))).toBe(true)
})
