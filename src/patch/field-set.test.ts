import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { FieldsV1 } from '../api/meta/object.ts'
import {
  difference,
  equalSets,
  type FieldSet,
  inOrder,
  intersection,
  memberPaths,
  setOf,
  union,
  without,
} from './field-set.ts'

/** A set from its paths, each a list of field names. */
const setFrom = (paths: readonly (readonly string[])[]): FieldSet =>
  paths.reduce<FieldSet>((set, path) => {
    const branch = path.reduceRight<FieldsV1>((node, name) => ({ [`f:${name}`]: node }), {})
    return union(set, setOf(branch))
  }, undefined)

const path = fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 3 })
const paths = fc.array(path, { maxLength: 8 })
const texts = (list: readonly (readonly string[])[]) =>
  [...new Set(list.map((one) => one.map((n) => `.${n}`).join('')))].sort()

describe('sets of fields', () => {
  test('members are what was put in', () => {
    fc.assert(
      fc.property(paths, (list) => {
        expect(memberPaths(setFrom(list))).toEqual(texts(list))
      }),
    )
  })

  test('operations are those of sets of paths', () => {
    fc.assert(
      fc.property(paths, paths, (left, right) => {
        const [a, b] = [setFrom(left), setFrom(right)]
        const [inA, inB] = [texts(left), texts(right)]
        expect(memberPaths(union(a, b))).toEqual([...new Set([...inA, ...inB])].sort())
        expect(memberPaths(difference(a, b))).toEqual(inA.filter((one) => !inB.includes(one)))
        expect(memberPaths(intersection(a, b))).toEqual(inA.filter((one) => inB.includes(one)))
        const isBelow = (one: string) => inB.some((other) => one === other || one.startsWith(`${other}.`))
        expect(memberPaths(without(a, b))).toEqual(inA.filter((one) => !isBelow(one)))
        expect(equalSets(a, b)).toBe(inA.join() === inB.join())
      }),
    )
  })

  test('inputs are left alone, and a set that loses nothing is the same set', () => {
    fc.assert(
      fc.property(paths, paths, (left, right) => {
        const [a, b] = [setFrom(left), setFrom(right)]
        const before = JSON.stringify([a, b])
        union(a, b)
        difference(a, b)
        intersection(a, b)
        expect(JSON.stringify([a, b])).toBe(before)
        if (memberPaths(intersection(a, b)).length === 0) expect(difference(a, b)).toBe(a)
      }),
    )
  })

  test('in order they are what a client would write that sorts all keys', () => {
    const sortedKeys = (_: string, value: Record<string, unknown>) =>
      Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    fc.assert(
      fc.property(paths, paths, (left, right) => {
        const set = union(setFrom(left), setFrom(right)) ?? {}
        const ordered = inOrder(set)
        expect(JSON.stringify(ordered)).toBe(JSON.stringify(set, sortedKeys))
        expect(inOrder(ordered)).toBe(ordered)
      }),
    )
  })

  test('paths read as users know them', () => {
    const set = {
      'f:metadata': { 'f:finalizers': { 'v:"a"': {} } },
      'f:spec': { 'f:ports': { 'k:{"port":80,"protocol":"TCP"}': { '.': {}, 'f:name': {} } }, 'f:x': { 'i:3': {} } },
    }
    expect(memberPaths(set)).toEqual([
      '.metadata.finalizers[="a"]',
      '.spec.ports[port=80,protocol="TCP"]',
      '.spec.ports[port=80,protocol="TCP"].name',
      '.spec.x[3]',
    ])
  })
})
