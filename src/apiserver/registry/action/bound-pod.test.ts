import { describe, expect, it } from 'vitest'
import type { Pod } from '../../../api/generated/core-v1.ts'
import { CachedObject } from '../../watch-cache/cached-object.ts'
import { encodeObject, stamped } from '../../watch-cache/encoding.ts'
import { encodeBoundPod } from './bound-pod.ts'

const pod = (parts: Partial<Pod> = {}): Pod => ({
  kind: 'Pod',
  apiVersion: 'v1',
  metadata: { name: 'p', namespace: 'd', uid: 'u' },
  spec: { containers: [{ name: 'c', image: 'i' }] },
  status: { phase: 'Pending' },
  ...parts,
})
const SCHEDULED = { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'True' }] }

function stored(object: Pod): CachedObject {
  const value = stamped(encodeObject(object), 41)
  return new CachedObject({ key: 'k', value, revision: 41 })
}

describe('the bytes of a bound pod', () => {
  const strange = { quote: '"},"status":{', accent: 'é', emoji: '🙂' }
  it.each<[string, Pod, Partial<Pod['metadata']>]>([
    ['as it was', pod(), {}],
    ['with characters that take several bytes', pod({ metadata: { name: 'p', annotations: strange } }), {}],
    ['with strange text in its spec', pod({ spec: { containers: [{ name: 'é"}', image: '🙂' }] } }), {}],
    ['with its first labels', pod(), { labels: { zone: 'ü' } }],
    ['with more labels', pod({ metadata: { labels: { a: 'é' }, name: 'p' } }), { labels: { a: 'é', zone: 'z' } }],
    ['with text that looks like a status', pod({ status: { message: '},"status":{}}' } }), {}],
  ])('are what encoding it anew gives: %s', (_, before, added) => {
    const current = stored(before)
    const old = current.object as Pod
    const metadata = Object.keys(added).length > 0 ? { ...old.metadata, ...added } : old.metadata
    const bound = { ...old, metadata, spec: { ...old.spec!, nodeName: 'n"1' }, status: SCHEDULED }
    const expected = encodeObject(bound)
    const made = encodeBoundPod(current, bound)
    expect(made?.value.toString()).toBe(expected.value.toString())
    expect(made?.revisionSlot).toBe(expected.revisionSlot)
    expect(made?.object).toEqual(expected.object)
  })

  it.each<[string, Pod]>([
    [
      'fields in another order',
      { status: {}, kind: 'Pod', apiVersion: 'v1', metadata: { name: 'p' }, spec: pod().spec! },
    ],
    ['a node already', pod({ spec: { ...pod().spec!, nodeName: '' } })],
  ])('are not guessed: %s', (_, before) => {
    const current = stored(before)
    const old = current.object as Pod
    expect(
      encodeBoundPod(current, { ...old, spec: { ...old.spec!, nodeName: 'n1' }, status: SCHEDULED }),
    ).toBeUndefined()
  })
})
