import { describe, expect, it } from 'vitest'
import type { EndpointSlice } from '../../api/generated/discovery-v1.ts'
import { CachedObject } from '../watch-cache/cached-object.ts'
import { encodeObject, stamped } from '../watch-cache/encoding.ts'
import { encodeChangedItems } from './encode-changed-items.ts'

const endpoint = (i: number, ready = true) => ({
  addresses: [`10.0.0.${i}`],
  conditions: { ready },
  targetRef: { kind: 'Pod', name: `pod-${i}`, uid: `u${i}` },
})
const slice = (parts: Partial<EndpointSlice> = {}): EndpointSlice => ({
  kind: 'EndpointSlice',
  apiVersion: 'discovery.k8s.io/v1',
  metadata: { name: 's', namespace: 'd', annotations: { é: '"},"endpoints":[{' } },
  addressType: 'IPv4',
  endpoints: Array.from({ length: 20 }, (_, i) => endpoint(i)),
  ports: [{ name: '', port: 80, protocol: 'TCP' }],
  ...parts,
})
const stored = (object: EndpointSlice) =>
  new CachedObject({ key: 'k', value: stamped(encodeObject(object), 41), revision: 41 })

type Change = (old: EndpointSlice) => EndpointSlice
const withItem = (i: number, item: object): Change =>
  ((old) => ({ ...old, endpoints: old.endpoints!.with(i, item as never) })) as Change
const inOrder =
  (...changes: Change[]): Change =>
  (old) =>
    changes.reduce((object, change) => change(object), old)

describe('the bytes of an object with a few other items', () => {
  it.each<[string, EndpointSlice, Change]>([
    ['one', slice(), withItem(7, endpoint(7, false))],
    ['the first and the last', slice(), inOrder(withItem(0, endpoint(0, false)), withItem(19, endpoint(19, false)))],
    ['longer and beyond ASCII', slice(), withItem(3, { ...endpoint(3), zone: 'zürich' })],
    ['none', slice(), (old) => ({ ...old, metadata: { ...old.metadata, labels: { a: 'ü' } } })],
    [
      'one, and other metadata',
      slice(),
      inOrder(withItem(1, {}), (old) => ({ ...old, metadata: { name: 's', generation: 2 } })),
    ],
    [
      'one whose text stands in another one as text',
      slice({ endpoints: [endpoint(1), { addresses: [JSON.stringify(endpoint(1))] }] }),
      withItem(0, endpoint(1, false)),
    ],
  ])('are what encoding it anew gives: %s', (_, before, change) => {
    const current = stored(before)
    const draft = change(current.object as EndpointSlice)
    const expected = encodeObject(draft)
    const made = encodeChangedItems('endpoints', current, draft)
    expect(made?.value.toString()).toBe(expected.value.toString())
    expect(made?.revisionSlot).toBe(expected.revisionSlot)
    expect(made?.object).toEqual(expected.object)
  })

  it.each<[string, EndpointSlice, Change]>([
    ['one item more', slice(), (old) => ({ ...old, endpoints: [...old.endpoints!, endpoint(20)] })],
    ['no list any more', slice(), ({ endpoints: _, ...old }) => old as EndpointSlice],
    ['many items', slice(), (old) => ({ ...old, endpoints: old.endpoints!.map((item) => ({ ...item })) })],
    ['an item that is there twice', slice({ endpoints: [endpoint(1), endpoint(1)] }), withItem(1, endpoint(2))],
    [
      'a label with the name of a field',
      slice({ metadata: { name: 's', labels: { a: 'b', addressType: 'x' } } }),
      withItem(1, endpoint(1, false)),
    ],
    ['another field', slice(), (old) => ({ ...old, ports: [] })],
    ['fields in another order', slice(), ({ ports, ...old }) => ({ ports: ports!, ...old })],
  ])('are not guessed: %s', (_, before, change) => {
    const current = stored(before)
    expect(encodeChangedItems('endpoints', current, change(current.object as EndpointSlice))).toBe(undefined)
  })
})
