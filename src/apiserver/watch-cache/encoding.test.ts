import { describe, expect, it } from 'vitest'
import { encodeObject, isStampOf, stamped, unstored, withRevision } from './encoding.ts'

const objects = [
  { what: 'plain', object: { kind: 'A', apiVersion: 'v1', metadata: { name: 'x' }, data: { a: 'b' } } },
  { what: 'nothing but metadata', object: { kind: 'A', apiVersion: 'g/v1', metadata: { name: 'x', labels: {} } } },
  { what: 'an empty metadata', object: { kind: 'A', apiVersion: 'v1', metadata: {} } },
  {
    what: 'an old resourceVersion',
    object: { kind: 'A', apiVersion: 'v1', metadata: { name: 'x', resourceVersion: '4' } },
  },
  { what: 'text beyond ASCII', object: { kind: 'Ä', apiVersion: 'v1', metadata: { name: 'ü' }, data: { ß: '€' } } },
  {
    what: 'a field that looks like the slot',
    object: { kind: 'A', apiVersion: 'v1', metadata: { annotations: { x: '"resourceVersion":"9"' } } },
  },
]

describe('stored form', () => {
  it.each(objects)('carries the revision of its commit: $what', ({ object }) => {
    const bytes = stamped(encodeObject(object), 1234)
    expect(JSON.parse(bytes.toString())).toEqual({
      ...object,
      metadata: { ...object.metadata, resourceVersion: '1234' },
    })
  })

  it.each(objects)('knows what reading it will give: $what', ({ object }) => {
    const encoded = encodeObject(object)
    const read = JSON.parse(stamped(encoded, 1234).toString())
    encoded.object.metadata.resourceVersion = '1234'
    expect(JSON.stringify(encoded.object)).toBe(JSON.stringify(read))
  })

  it.each(objects)('is told apart from others: $what', ({ object }) => {
    const encoded = encodeObject(object)
    const other = encodeObject({ ...object, metadata: { ...object.metadata, name: 'y' } })
    expect(isStampOf(encoded, stamped(encoded, 99), 99)).toBe(true)
    expect(isStampOf(encoded, stamped(encoded, 98), 99)).toBe(false)
    expect(isStampOf(encoded, stamped(encoded, 100), 99)).toBe(false)
    expect(isStampOf(encoded, stamped(other, 99), 99)).toBe(false)
  })

  it.each(objects)('takes another revision: $what', ({ object }) => {
    const bytes = withRevision(stamped(encodeObject(object), 7), 100)
    expect(bytes.equals(stamped(encodeObject(object), 100))).toBe(true)
  })

  it('leaves a dry run as it is', () => {
    const object = { metadata: { name: 'x' }, kind: 'A', apiVersion: 'v1' }
    expect(JSON.parse(unstored(object).toString())).toEqual(object)
  })
})
