import { describe, expect, it } from 'vitest'
import { builtinKinds } from '../kinds/all.ts'
import type { KubernetesObject } from '../meta/object.ts'
import { decodeProtobuf } from './decode.ts'
import { encodeEvent, encodeList, encodeObject, encodeStored, joinItems } from './encode.ts'

const configMaps = builtinKinds.find((kind) => kind.kind === 'ConfigMap')!
const ANY = { apiVersion: '', kind: '' }

const configMap = (name: string, value = 'x'): KubernetesObject & { data: object } => ({
  kind: 'ConfigMap',
  apiVersion: 'v1',
  metadata: { name, labels: { a: 'b' } },
  data: { value },
})
const stored = (object: KubernetesObject) => ({ object })

describe('objects', () => {
  it('are written once and shared', () => {
    const object = stored(configMap('a'))
    expect(encodeStored(configMaps, object)).toBe(encodeStored(configMaps, object))
    expect(decodeProtobuf(encodeStored(configMaps, object).bytes, ANY).value).toEqual(configMap('a'))
  })

  it('end with their message', () => {
    const { bytes, messageStart } = encodeStored(configMaps, stored(configMap('a')))
    // Field 1, the metadata, is somewhere in it; the envelope's kind is not.
    expect(bytes.indexOf('ConfigMap')).toBeLessThan(messageStart)
    expect(bytes.subarray(messageStart).includes('ConfigMap')).toBe(false)
  })

  it('do not disturb each other', () => {
    const first = encodeObject(configMap('a'))
    const copy = Buffer.from(first)
    encodeObject(configMap('b', 'y'.repeat(200_000)))
    expect(first.equals(copy)).toBe(true)
  })

  it('without a protobuf form are a mistake of ours', () => {
    expect(() => encodeObject({ apiVersion: 'meta.k8s.io/v1', kind: 'Table' })).toThrow('has no protobuf form')
  })
})

describe('lists', () => {
  it.each([0, 1, 3])('of %d objects are what their JSON says', (count) => {
    const objects = Array.from({ length: count }, (_, index) => configMap(`c-${index}`, 'x'.repeat(index * 100)))
    const items = joinItems(objects.map((object) => encodeStored(configMaps, stored(object))))
    const bytes = Buffer.concat(encodeList(configMaps, { resourceVersion: '7', remainingItemCount: 2 }, items))
    const list = decodeProtobuf(bytes, ANY).value as { items?: object[] }
    expect(list).toMatchObject({
      apiVersion: 'v1',
      kind: 'ConfigMapList',
      metadata: { resourceVersion: '7', remainingItemCount: 2 },
    })
    expect(list.items ?? []).toEqual(objects.map(({ kind, apiVersion, ...rest }) => rest))
  })
})

describe('events', () => {
  it('stand behind their length and hold the whole object', () => {
    const object = encodeObject(configMap('a'))
    const frame = encodeEvent('ADDED', object)
    expect(frame.readUInt32BE(0)).toBe(frame.length - 4)
    expect(frame.subarray(4, 11).toString('latin1')).toBe('\x0a\x05ADDED')
    expect(frame.subarray(-object.length).equals(object)).toBe(true)
  })
})
