import { describe, expect, it } from 'vitest'
import type { ObjectMeta, OwnerReference } from '../../api/meta/object.ts'
import type { ServedType } from '../served-types.ts'
import { OwnerGraph } from './owner-graph.ts'

const TYPE: ServedType = { group: '', version: 'v1', plural: 'things', kind: 'Thing', namespaced: true, verbs: [] }
const object = (name: string, owners: string[] = [], more: ObjectMeta = {}): ObjectMeta => ({
  name,
  uid: name,
  namespace: 'n',
  ownerReferences: owners.map((owner) => reference(owner)),
  ...more,
})
const reference = (name: string): OwnerReference => ({ apiVersion: 'v1', kind: 'Thing', name, uid: name })
const foreground = { deletionTimestamp: 'now', finalizers: ['foregroundDeletion'] }
const orphan = { deletionTimestamp: 'now', finalizers: ['orphan'] }

function graphOf(...objects: ObjectMeta[]): OwnerGraph {
  const graph = new OwnerGraph()
  for (const one of objects) graph.change(TYPE, undefined, one)
  return graph
}

describe('OwnerGraph', () => {
  const base = [object('owner'), object('a', ['owner']), object('b', ['owner'])]
  it.each<[string, ObjectMeta | undefined, ObjectMeta | undefined, string[]]>([
    ['a new object without owners concerns nobody', undefined, object('c'), []],
    ['one with an owner that is there neither', undefined, object('c', ['owner']), []],
    ['one with an unknown owner must be looked at', undefined, object('c', ['ghost']), ['c']],
    ['one whose owner is elsewhere too', undefined, object('c', ['owner'], { namespace: 'other' }), ['c']],
    ['a change of status concerns nobody', base[1], object('a', ['owner'], { resourceVersion: '2' }), []],
    ['an owner that is gone concerns its dependents', base[0], undefined, ['a', 'b']],
    ['a dependent that is gone concerns nobody', base[1], undefined, []],
    ['an owner that waits concerns all', base[0], object('owner', [], foreground), ['a', 'b', 'owner']],
    ['an owner that lets go concerns itself', base[0], object('owner', [], orphan), ['owner']],
    ['a plain deletion waits for others', base[0], object('owner', [], { deletionTimestamp: 'now' }), []],
    ['another object of the same name', base[0], object('owner', [], { uid: 'new' }), ['a', 'b']],
  ])('%s', (_, old, current, affected) => {
    expect([...graphOf(...base).change(TYPE, old, current)].sort()).toEqual(affected)
  })

  it('tells a waiting owner of each dependent that goes, comes or lets go', () => {
    const graph = graphOf(object('owner', [], foreground), object('a', ['owner']), object('b', ['owner']))
    expect([...graph.change(TYPE, object('a', ['owner']), undefined)]).toEqual(['owner'])
    expect([...graph.change(TYPE, object('b', ['owner']), object('b'))]).toEqual(['owner'])
    expect(graph.hasDependents('owner')).toBe(false)
    expect([...graph.change(TYPE, undefined, object('c', ['owner']))].sort()).toEqual(['c', 'owner'])
  })

  it('finds dependents that were known before their owner', () => {
    const graph = graphOf(object('a', ['late']), object('late'))
    expect([...graph.dependentsOf('late')].map(({ metadata }) => metadata.name)).toEqual(['a'])
    expect(graph.isSolid(reference('late'), graph.get('a')!)).toBe(true)
  })

  it('does not take for gone what is only no longer watched', () => {
    const graph = graphOf(...base)
    expect([...graph.forget(object('owner'))].sort()).toEqual(['a', 'b'])
    expect(graph.get('owner')).toBeUndefined()
    expect(graph.isGone('owner')).toBe(false)
  })

  it('remembers what is gone', () => {
    const graph = graphOf(object('a'))
    expect(graph.isGone('a')).toBe(false)
    graph.change(TYPE, object('a'), undefined)
    expect(graph.isGone('a')).toBe(true)
  })
})
