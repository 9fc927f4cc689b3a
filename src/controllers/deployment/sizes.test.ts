import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Deployment, ReplicaSet } from '../../api/generated/apps-v1.ts'
import { rollingUpdateStep, type Sizes } from './rolling-update.ts'
import { allReplicaSets, type Rollout } from './rollout.ts'
import { isScalingEvent, scaledSizes } from './scaling.ts'

interface Limits {
  surge?: number | string
  unavailable?: number | string
}

/** A ReplicaSet as `wanted/available`; `max` is what the Deployment allowed in all when it was sized last. */
function replicaSet(
  name: string,
  [replicas = 0, availableReplicas = 0]: number[],
  max: number,
  second: number,
): ReplicaSet {
  const annotations = { 'deployment.kubernetes.io/max-replicas': String(max) }
  return {
    metadata: { name, annotations, creationTimestamp: `2026-01-01T00:00:0${second}Z` },
    spec: { replicas, selector: {} },
    status: { replicas, availableReplicas },
  }
}

/** Old ReplicaSets first, the newest last. */
function rollout(replicas: number, sets: string, { surge = 1, unavailable = 0 }: Limits, max = replicas): Rollout {
  const strategy = { type: 'RollingUpdate', rollingUpdate: { maxSurge: surge, maxUnavailable: unavailable } }
  const deployment = { metadata: { name: 'web' }, spec: { replicas, strategy } } as Deployment
  const all = sets.split(' ').map((text, index) => replicaSet(`${index}`, text.split('/').map(Number), max, index))
  return { deployment, newReplicaSet: all.at(-1), oldReplicaSets: all.slice(0, -1) }
}

const readable = (sizes: Sizes) => Object.fromEntries([...sizes].map(([one, size]) => [one.metadata.name, size]))

test.each<[number, string, Limits, Record<string, number>]>([
  [3, '3/3 0/0', { surge: 1 }, { 1: 1 }],
  [3, '3/3 1/0', { surge: 1 }, {}],
  [3, '3/3 1/1', { surge: 1 }, { 0: 2 }],
  [3, '2/2 1/1', { surge: 1 }, { 1: 2 }],
  [3, '0/0 3/3', { surge: 1 }, {}],
  [3, '0/0 4/4', { surge: 1 }, { 1: 3 }],
  [4, '4/4 0/0', { surge: 0, unavailable: 1 }, { 0: 3 }],
  [10, '10/10 0/0', { surge: '50%', unavailable: '50%' }, { 1: 5 }],
  [3, '3/3 0/0', { surge: '0%', unavailable: '0%' }, { 0: 2 }],
  // What does not work goes first, from the oldest on; what works only while enough is left.
  [4, '3/1 1/1 1/0', { surge: 1, unavailable: 1 }, { 0: 2 }],
  [4, '2/0 3/3 0/0', { surge: 1, unavailable: 1 }, { 0: 0 }],
  [4, '1/1 4/4 0/0', { surge: 1, unavailable: 1 }, { 0: 0, 1: 3 }],
])('rolling update of %i: %s with %j', (replicas, sets, limits, sizes) => {
  expect(readable(rollingUpdateStep(rollout(replicas, sets, limits)))).toEqual(sizes)
})

test.each<[string, number, string, number, Limits, Record<string, number>]>([
  ['one ReplicaSet with pods gets everything: the newest', 5, '0/0 3/3', 4, {}, { 1: 5 }],
  ['one ReplicaSet with pods gets everything: an old one', 5, '3/3 0/0', 4, {}, { 0: 5 }],
  ['without pods the newest ReplicaSet gets everything', 5, '0/0 0/0', 1, {}, { 1: 5 }],
  // 20 + 4 = 24 of 12 before: each doubles.
  ['an exact split leaves no remainder', 20, '9/9 3/3', 12, { surge: 4 }, { 0: 18, 1: 6 }],
  // 8 of 12 before: 9 becomes 6, 3 becomes 2.
  ['a smaller total shrinks each by its part', 6, '9/9 3/3', 12, { surge: 2 }, { 0: 6, 1: 2 }],
  // 8 of 6 before: 2 becomes 2.67, rounded to 3, for the first two; only 2 are left for the third.
  ['rounding up stops when the total is reached', 7, '2/2 2/2 2/2', 6, { surge: 1 }, { 2: 3, 1: 3, 0: 2 }],
  // 10 of 9 before: 3 becomes 3.33, rounded to 3; the one left over goes to the newest of equals.
  ['the remainder of growth goes to the newest of equals', 9, '3/3 3/3 3/3', 9, { surge: 1 }, { 2: 4, 1: 3, 0: 3 }],
  // 8 of 9 before: 3 becomes 2.67, rounded to 3; the one too many goes from the oldest of equals.
  ['the remainder of shrinking is taken from the oldest', 7, '3/3 3/3 3/3', 9, { surge: 1 }, { 0: 2, 1: 3, 2: 3 }],
  ['the largest is served first, whatever its age', 9, '1/1 7/7 2/2', 10, { surge: 2 }, { 1: 8, 2: 2, 0: 1 }],
  ['zero replicas leave no pods, without a surge', 0, '6/6 2/2', 9, { surge: 3 }, { 0: 0, 1: 0 }],
  ['a ReplicaSet sized from nothing keeps its size, the rest goes to the largest', 4, '3/3 1/1', 0, {}, { 0: 4, 1: 1 }],
])('scaling: %s', (_, replicas, sets, max, limits, sizes) => {
  expect(readable(scaledSizes(rollout(replicas, sets, limits, max)))).toEqual(sizes)
})

/** The annotation of the ReplicaSets says how many replicas the Deployment wanted. */
function sizedFor(desired: string | undefined, of: Rollout): Rollout {
  for (const { metadata } of allReplicaSets(of))
    if (desired !== undefined) metadata.annotations!['deployment.kubernetes.io/desired-replicas'] = desired
  return of
}

test.each<[string, string | undefined, string, boolean]>([
  ['the same number', '4', '2/2 2/2', false],
  ['another number', '3', '2/2 2/2', true],
  ['another number, but no ReplicaSet has pods', '3', '0/0 0/0', false],
  ['no number', undefined, '2/2 2/2', false],
  ['no readable number', 'many', '2/2 2/2', false],
])('scaling is noticed by what the ReplicaSets were sized for: %s', (_, desired, sets, isScaled) => {
  expect(isScalingEvent(sizedFor(desired, rollout(4, sets, {})))).toBe(isScaled)
})

test('scaling ends a rollout whose newest ReplicaSet already has all replicas available', () => {
  expect(readable(scaledSizes(sizedFor('4', rollout(4, '2/2 4/4', {}))))).toEqual({ 0: 0 })
  expect(readable(scaledSizes(sizedFor('4', rollout(4, '2/2 4/3', {}))))).not.toEqual({ 0: 0 })
})

test('a Deployment that is recreated leaves several ReplicaSets with pods alone', () => {
  const of = rollout(6, '2/2 2/2', {})
  Object.assign(of.deployment.spec!, { strategy: { type: 'Recreate' } })
  expect(readable(scaledSizes(of))).toEqual({})
})

test('all shares together are the replicas and the surge', () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 2, maxLength: 6 })
  fc.assert(
    fc.property(sizes, fc.integer({ min: 1, max: 400 }), fc.nat(50), (parts, replicas, surge) => {
      const before = parts.reduce((sum, one) => sum + one, 0)
      const scaled = scaledSizes(rollout(replicas, parts.map((one) => `${one}/0`).join(' '), { surge }, before))
      expect([...scaled.values()].reduce((sum, one) => sum + one, 0)).toBe(replicas + surge)
    }),
  )
})
