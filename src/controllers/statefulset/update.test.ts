import { expect, test } from 'vitest'
import type { StatefulSet } from '../../api/generated/apps-v1.ts'
import type { Pod } from '../../api/generated/core-v1.ts'
import { podsToUpdate } from './update.ts'

/** One letter for each ordinal: (o)ld, (O)ld and down, (n)ew, (N)ew and down, (t)erminating, (-) missing. */
function slots(pods: string, start = 0) {
  return [...pods].map((letter, index) => ({ ordinal: start + index, pod: pod(letter, start + index) }))
}

function pod(letter: string, ordinal: number): Pod | undefined {
  if (letter === '-') return undefined
  const isUp = letter === 'o' || letter === 'n'
  return {
    metadata: {
      name: String(ordinal),
      labels: { 'controller-revision-hash': letter.toLowerCase() === 'n' ? 'new' : 'old' },
      ...(letter === 't' && { deletionTimestamp: '2026-01-01T00:00:00Z' }),
    },
    status: { phase: 'Running', conditions: [{ type: 'Ready', status: isUp ? 'True' : 'False' }] },
  }
}

test.each<[string, { partition?: number; maxUnavailable?: number | string }, string[]]>([
  ['oooo', {}, ['3']],
  ['ooon', {}, ['2']],
  ['oooN', {}, []],
  ['ooot', {}, []],
  ['ooo-', {}, []],
  ['Oooo', {}, ['3']],
  ['Oonn', {}, ['1']],
  ['nnnn', {}, []],
  ['oooo', { partition: 2 }, ['3']],
  ['oonn', { partition: 2 }, []],
  ['oooo', { partition: 9 }, []],
  ['oooo', { maxUnavailable: 2 }, ['3', '2']],
  ['oooo', { maxUnavailable: '75%' }, ['3', '2', '1']],
  ['oooo', { maxUnavailable: '10%' }, ['3']],
  ['ooot', { maxUnavailable: 2 }, ['2']],
  ['ootN', { maxUnavailable: 2 }, []],
  ['Oooo', { maxUnavailable: 1 }, ['0']],
  ['Oooo', { maxUnavailable: 2 }, ['3', '0']],
  ['OOoo', { maxUnavailable: 2, partition: 1 }, ['1']],
])('%s with %j', (pods, rollingUpdate, names) => {
  const set = { metadata: {}, spec: { updateStrategy: { type: 'RollingUpdate', rollingUpdate } } } as StatefulSet
  expect(podsToUpdate(set, slots(pods), 'new', 0).map((one) => one.metadata.name)).toEqual(names)
})

test('ordinals count from the start of the set', () => {
  const updateStrategy = { type: 'RollingUpdate', rollingUpdate: { partition: 1 } }
  const set = { metadata: {}, spec: { ordinals: { start: 5 }, updateStrategy } } as StatefulSet
  expect(podsToUpdate(set, slots('onn', 5), 'new', 0)).toEqual([])
  expect(podsToUpdate(set, slots('oon', 5), 'new', 0).map((one) => one.metadata.name)).toEqual(['6'])
})
