import { expect, test } from 'vitest'
import type { Deployment, ReplicaSet } from '../../api/generated/apps-v1.ts'
import { rollingUpdateStep, type Sizes } from './rolling-update.ts'
import type { Rollout } from './rollout.ts'
import { scaledSizes } from './scaling.ts'

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
  ['only the newest', 5, '0/0 3/3', 4, {}, { 1: 5 }],
  ['only an old one', 5, '3/3 0/0', 4, {}, { 0: 5 }],
  ['nothing runs', 5, '0/0 0/0', 1, {}, { 1: 5 }],
  ['up, by share', 15, '8/8 5/5', 13, { surge: 3 }, { 0: 11, 1: 7 }],
  ['down, by share', 5, '8/8 5/5', 13, { surge: 3 }, { 0: 5, 1: 3 }],
  ['to nothing', 0, '8/8 5/5', 13, { surge: 3 }, { 0: 0, 1: 0 }],
  ['up, equal ones: the newest gets the odd one', 5, '2/2 2/2', 4, { surge: 0, unavailable: 1 }, { 0: 2, 1: 3 }],
])('scaling: %s', (_, replicas, sets, max, limits, sizes) => {
  expect(readable(scaledSizes(rollout(replicas, sets, limits, max)))).toEqual(sizes)
})
