import { expect, it } from 'vitest'
import { NODE_PARTS } from './parts.ts'

it('a node starts the network before the runtime, the runtime before the kubelet, and serves names last', () => {
  expect(NODE_PARTS.map(({ name }) => name)).toEqual([
    'API clients',
    'pod network',
    'system call agents',
    'container runtime',
    'kubelet',
    'service proxy',
    'cluster DNS',
  ])
})

it('every part of a node stops, and those that leave something in the kernel remove it', () => {
  for (const part of NODE_PARTS) expect(part.stop, part.name).toBeDefined()
  const removing = NODE_PARTS.filter((part) => part.remove).map(({ name }) => name)
  expect(removing).toEqual(['pod network', 'container runtime', 'kubelet', 'service proxy'])
})
