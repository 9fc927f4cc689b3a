import { expect, test } from 'vitest'
import type { Pod } from '../../api/generated/core-v1.ts'
import { type DaemonNode, placementSteps, type Situation } from './placement.ts'
import { rollingUpdateSteps } from './rolling-update.ts'

/** A letter for each pod: (o)ld, (O)ld and not ready, (n)ew, (N)ew and not ready, (t)erminating, (f)ailed. */
function pod(letter: string, name: string): Pod {
  const isReady = letter === 'o' || letter === 'n'
  return {
    metadata: {
      name,
      labels: { 'controller-revision-hash': letter.toLowerCase() === 'n' ? 'new' : 'old' },
      creationTimestamp: letter.toLowerCase() === 'n' ? '2026-01-02T00:00:00Z' : '2026-01-01T00:00:00Z',
      ...(letter === 't' && { deletionTimestamp: '2026-01-03T00:00:00Z' }),
    },
    spec: { containers: [], nodeName: 'x' },
    status: {
      phase: letter === 'f' ? 'Failed' : 'Running',
      conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }],
    },
  }
}

/** Nodes divided by spaces, `-` for one without pods, a leading `!` for one that should not have any, `~` may keep. */
function situation(nodes: string, maxUnavailable: number, maxSurge: number): Situation {
  return {
    nodes: nodes.split(' ').map((text, index): DaemonNode => {
      const letters = [...text.replace(/[-!~]/g, '')]
      return {
        name: `${index}`,
        shouldRun: !/[!~]/.test(text),
        mayStay: !text.startsWith('!'),
        pods: letters.map((letter) => pod(letter, `${index}${letter}`)),
      }
    }),
    hash: 'new',
    minReadySeconds: 0,
    maxSurge,
    maxUnavailable,
    now: 0,
  }
}

const names = (pods: readonly Pod[]) => pods.map((one) => one.metadata.name)

test.each<[string, number, number, string[], string[]]>([
  ['o o o', 1, 0, ['0o'], []],
  ['o o o', 2, 0, ['0o', '1o'], []],
  ['n o o', 1, 0, ['1o'], []],
  ['N o o', 1, 0, [], []],
  ['t o o', 1, 0, [], []],
  ['- o o', 1, 0, [], []],
  ['O o o', 1, 0, ['0O'], []],
  ['O O o', 1, 0, ['0O', '1O'], []],
  ['oo o o', 1, 0, [], []],
  ['!o n n', 1, 0, [], []],
  ['n n n', 1, 0, [], []],
  ['o o o', 0, 1, [], ['0']],
  ['o o o', 0, 2, [], ['0', '1']],
  ['oN o o', 0, 1, [], []],
  ['on o o', 0, 1, ['0o'], ['1']],
  ['O o o', 0, 1, [], ['0', '1']],
  ['n o o', 0, 1, [], ['1']],
  ['N o o', 0, 1, [], []],
])('%s with %i unavailable and a surge of %i', (nodes, unavailable, surge, removed, created) => {
  const steps = rollingUpdateSteps(situation(nodes, unavailable, surge))
  expect([names(steps.delete), steps.create]).toEqual([removed, created])
})

test.each<[string, number, string[], string[], string[]]>([
  ['- o', 0, ['0'], [], []],
  ['!- ~-', 0, [], [], []],
  ['!o ~o', 0, [], ['0o'], []],
  ['t', 0, [], [], []],
  ['!t', 0, [], [], []],
  ['on', 0, [], ['0n'], []],
  ['oN', 1, [], [], []],
  ['on', 1, [], ['0o'], []],
  ['ON', 1, [], ['0O'], []],
  ['f o', 0, [], [], ['0f']],
  ['!f', 0, [], ['0f'], []],
])('placement of %s with a surge of %i', (nodes, surge, created, removed, ended) => {
  const steps = placementSteps(situation(nodes, 1, surge))
  expect([steps.create, names(steps.delete), names(steps.ended)]).toEqual([created, removed, ended])
})
