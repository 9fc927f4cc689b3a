import { describe, expect, it } from 'vitest'
import type { Endpoint } from '../../api/generated/discovery-v1.ts'
import { portGroup } from './pod-endpoint.ts'
import { SliceSet } from './slice-set.ts'

const HTTP = portGroup([{ name: 'http', port: 80, protocol: 'TCP' }])
const ADMIN = portGroup([{ name: 'admin', port: 81, protocol: 'TCP' }])
const endpoint = (uid: string, ready = true): Endpoint => ({
  addresses: ['10.0.0.1'],
  conditions: { ready },
  targetRef: { kind: 'Pod', uid },
})
const CAPACITY = 3

/** `abc de` is a set of two slices; the server calls them 0 and 1. */
function setOf(text: string, group = HTTP): SliceSet {
  const set = new SliceSet('IPv4', CAPACITY)
  for (const [i, uids] of text.split(' ').entries())
    set.load(
      {
        metadata: { name: String(i) },
        addressType: 'IPv4',
        ports: group.ports,
        endpoints: [...uids].map((uid) => endpoint(uid)),
      },
      false,
    )
  return set
}

/** What is written: `+` a new slice, a name an update, `-` a deletion; then what is in it. */
function changesOf(set: SliceSet): string[] {
  set.settle()
  const { create, update, remove } = set.changes()
  const uids = ({ endpoints }: { endpoints: readonly Endpoint[] }) => endpoints.map((e) => e.targetRef?.uid).join('')
  return [
    ...create.map((slice) => `+ ${uids(slice)}`),
    ...update.map((slice) => `${slice.object!.metadata.name} ${uids(slice)}`),
    ...remove.map((slice) => `- ${slice.object!.metadata.name}`),
  ]
}

describe('SliceSet', () => {
  it.each<[string, string, string, string, string[]]>([
    ['nothing to do', 'abc', '', '', []],
    ['into the slice that just has the room', 'a bc', 'd', '', ['1 bcd']],
    ['into a slice that is written anyway', 'abc de', 'f', 'a', ['0 bcf']],
    ['a new one when none has the room for all', 'ab cd', 'xy', '', ['+ xy']],
    ['full slices of new ones', 'abc', 'uvwxyz', '', ['+ uvw', '+ xyz']],
    ['empty ones go', 'abc d', '', 'd', ['- 1']],
    ['the last one stays, empty', 'a', '', 'a', ['0 ']],
  ])('%s', (_, before, added, removed, expected) => {
    const set = setOf(before)
    for (const uid of removed) set.place(uid, undefined, HTTP)
    for (const uid of added) set.place(uid, endpoint(uid), HTTP)
    expect(changesOf(set)).toEqual(expected)
  })

  it('a change of one endpoint changes one slice and keeps the order', () => {
    const set = setOf('abc def')
    set.place('e', endpoint('e', false), HTTP)
    expect(changesOf(set)).toEqual(['1 def'])
  })

  it('an equal endpoint changes nothing', () => {
    const set = setOf('abc')
    set.place('b', endpoint('b'), HTTP)
    expect(changesOf(set)).toEqual([])
  })

  it('a pod with other ports moves to another slice, in place of one that would be deleted', () => {
    const set = setOf('a')
    set.place('a', endpoint('a'), ADMIN)
    expect(changesOf(set)).toEqual(['0 a'])
    expect([...set.slices].map((slice) => slice.group.key)).toEqual([ADMIN.key])
  })

  it('endpoints that are no pods, or are there twice, are dropped', () => {
    const set = setOf('ab ac')
    expect(changesOf(set)).toEqual(['1 c'])
  })
})
