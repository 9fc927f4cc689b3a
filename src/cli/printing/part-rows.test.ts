import { expect, it } from 'vitest'
import { partRows } from './part-rows.ts'

const MINUTE = 60_000

it('lists the parts of the control plane, then those of each node, with the time in their state', () => {
  const health = {
    revision: 1,
    residentBytes: 1,
    uptimeSeconds: 1,
    parts: [
      { name: 'store', state: 'running', since: 0 },
      { name: 'controllers', state: 'failed', since: 5 * MINUTE, error: 'no rights' },
    ],
  } as const
  const nodes = [
    { name: 'node-1', pid: 7, parts: [{ name: 'kubelet', state: 'starting', since: 9 * MINUTE }] },
  ] as const
  expect(partRows({ health, nodes }, 10 * MINUTE)).toEqual([
    ['control plane', 'store', 'running', '10m'],
    ['control plane', 'controllers', 'failed: no rights', '5m'],
    ['node-1', 'kubelet', 'starting', '60s'],
  ])
})

it('has no rows if no server answers', () => expect(partRows({ nodes: [] }, 0)).toEqual([]))
