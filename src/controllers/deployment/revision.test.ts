import { expect, it } from 'vitest'
import type { ReplicaSet } from '../../api/generated/apps-v1.ts'
import { byRevision, nextRevision, REVISION, revisionOf } from './revision.ts'

const withRevision = (revision: string): ReplicaSet => ({
  apiVersion: 'apps/v1',
  kind: 'ReplicaSet',
  metadata: { name: revision, annotations: { [REVISION]: revision } },
})

it.each([
  ['1', 1n],
  ['3546343826724305833', 3546343826724305833n],
  ['9223372036854775807', 9223372036854775807n],
  ['9223372036854775808', 0n],
  ['-1', 0n],
  ['', 0n],
  ['one', 0n],
])('reads %j as %s', (text, revision) => expect(revisionOf(withRevision(text))).toBe(revision))

it('counts on where doubles cannot', () => {
  const sets = ['3546343826724305833', '3546343826724305832', '7'].map(withRevision)
  expect(nextRevision(sets)).toBe(3546343826724305834n)
  expect(nextRevision([])).toBe(1n)
  expect([...sets].sort(byRevision)).toEqual([sets[2], sets[1], sets[0]])
})
