import { expect, test } from 'vitest'
import type { Pod } from '../../api/generated/core-v1.ts'
import { formatTime } from '../../api/meta/time.ts'
import { deletionOrder } from './deletion-order.ts'

const NOW = Date.UTC(2026, 0, 1)
const ago = (seconds: number) => formatTime(NOW - seconds * 1000)

interface Traits {
  node?: string
  phase?: string
  ready?: number | false
  cost?: string
  restarts?: number
  age?: number
}

/** Alike in all but the traits given. */
function pod(
  name: string,
  { node = 'n', phase = 'Running', ready = 1000, cost, restarts = 0, age = 5000 }: Traits,
): Pod {
  return {
    metadata: {
      name,
      uid: name,
      creationTimestamp: ago(age),
      ...(cost !== undefined && { annotations: { 'controller.kubernetes.io/pod-deletion-cost': cost } }),
    },
    spec: { containers: [], nodeName: node },
    status: {
      phase,
      conditions: ready === false ? [] : [{ type: 'Ready', status: 'True', lastTransitionTime: ago(ready) }],
      containerStatuses: [{ name: 'c', restartCount: restarts, ready: true, image: '', imageID: '' }],
    },
  }
}

/** The first one goes first. Names are chosen so that the order by uid would be the other one. */
test.each<[string, Traits, Traits]>([
  ['without a node', { node: '' }, { node: 'n', phase: 'Pending', ready: false }],
  ['pending before unknown', { phase: 'Pending' }, { phase: 'Unknown' }],
  ['unknown before running', { phase: 'Unknown' }, { phase: 'Running' }],
  ['not ready before ready', { ready: false }, { ready: 1, cost: '-5' }],
  ['cheaper before dearer', { cost: '-1', restarts: 0 }, { cost: '0', restarts: 9 }],
  ['no cost counts as 0', {}, { cost: '10' }],
  ['a cost that is no number counts as 0', { cost: '99x' }, { cost: '1' }],
  ['ready for a shorter time', { ready: 10 }, { ready: 1000 }],
  ['restarted more often', { restarts: 3 }, { restarts: 2 }],
  ['younger', { age: 60 }, { age: 5000 }],
])('%s', (_, first, last) => {
  const pods = [pod('a-last', last), pod('z-first', first)]
  expect(deletionOrder(pods, pods, NOW).map((one) => one.metadata.name)).toEqual(['z-first', 'a-last'])
})

test('pods that double up on a node go first, those of related owners counted', () => {
  const pods = [pod('a', { node: 'one' }), pod('b', { node: 'two' })]
  const related = [...pods, pod('other', { node: 'two' })]
  expect(deletionOrder(pods, related, NOW).map((one) => one.metadata.name)).toEqual(['b', 'a'])
})

test('ages of the same magnitude do not decide: chance does', () => {
  const pods = [pod('a', { ready: 1000 }), pod('b', { ready: 900 })]
  expect(deletionOrder(pods, pods, NOW).map((one) => one.metadata.name)).toEqual(['a', 'b'])
})
