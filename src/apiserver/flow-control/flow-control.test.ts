import { describe, expect, it } from 'vitest'
import { MetricsRegistry } from '../../base/metrics.ts'
import { VirtualClock } from '../../base/virtual-clock.ts'
import type { UserInfo } from '../identity.ts'
import { FlowControl } from './flow-control.ts'
import type { FlowRequest } from './matching.ts'
import { dealHand } from './shuffle-shard.ts'

const user = (name: string, ...groups: string[]): UserInfo => ({ name, groups: [...groups, 'system:authenticated'] })
const alice = user('alice')
const bob = user('bob')
const account = user('system:serviceaccount:shop:cart', 'system:serviceaccounts')
const node = user('system:node:a', 'system:nodes')

function asked(verb: string, what: string, namespace = ''): FlowRequest {
  if (what.startsWith('/')) return { verb, path: what }
  const [whole = '', group = ''] = what.split('.')
  const [resource = '', subresource = ''] = whole.split('/')
  return { verb, path: '', resource: { group, resource, subresource, namespace } }
}

const never = () => new AbortController().signal
const turn = () => new Promise((resolve) => setImmediate(resolve))

/** Levels of 8 seats for everybody, one of which may wait where told. */
function small(queuing: { queues: number; handSize: number; queueLengthLimit: number } | undefined, seats = 8) {
  const clock = new VirtualClock()
  const metrics = new MetricsRegistry()
  const control = new FlowControl(clock, metrics, seats)
  for (const { name } of [...control.levels])
    if (!['exempt', 'catch-all'].includes(name)) control.setLevel(name, undefined)
  const limitResponse = queuing ? { type: 'Queue', queuing } : { type: 'Reject' }
  control.setLevel('catch-all', {
    metadata: {},
    spec: { type: 'Limited', limited: { nominalConcurrencyShares: 1, limitResponse } },
  })
  return { clock, metrics, control }
}

describe('classification', () => {
  it.each<[string, UserInfo, FlowRequest, string, string]>([
    ['an administrator', user('root', 'system:masters'), asked('get', 'pods', 'a'), 'exempt', 'exempt'],
    [
      'a probe',
      { name: 'system:anonymous', groups: ['system:unauthenticated'] },
      asked('get', '/healthz'),
      'probes',
      'exempt',
    ],
    ['a node about itself', node, asked('update', 'nodes/status'), 'system-node-high', 'node-high'],
    ['the lease of a node', node, asked('update', 'leases.coordination', 'kube-node-lease'), 'system-nodes', 'system'],
    ['a node about pods', node, asked('list', 'pods'), 'system-nodes', 'system'],
    [
      'a controller',
      user('system:kube-controller-manager'),
      asked('list', 'pods'),
      'kube-controller-manager',
      'workload-high',
    ],
    ['a workload', account, asked('get', 'pods', 'shop'), 'service-accounts', 'workload-low'],
    ['a person', alice, asked('get', 'pods', 'shop'), 'global-default', 'global-default'],
    ['a path', alice, asked('get', '/apis'), 'global-default', 'global-default'],
  ])('%s', (_, who, request, schema, level) => {
    const flow = new FlowControl(new VirtualClock(), new MetricsRegistry()).classify(who, request)
    expect([flow.schema, flow.level.name]).toEqual([schema, level])
  })

  it('follows changes, and falls back to catch-all', () => {
    const control = new FlowControl(new VirtualClock(), new MetricsRegistry())
    const before = control.classify(alice, asked('get', 'pods', 'a'))
    expect(control.classify(alice, asked('get', 'pods', 'a'))).toBe(before)
    control.setSchema('global-default', undefined)
    expect(control.classify(alice, asked('get', 'pods', 'a')).schema).toBe('catch-all')
    control.setSchema('catch-all', undefined)
    expect(control.classify(alice, asked('get', 'pods', 'a')).schema).toBe('catch-all')
  })

  it('shares the seats by shares', () => {
    const control = new FlowControl(new VirtualClock(), new MetricsRegistry())
    const seats = Object.fromEntries([...control.levels].map(({ name, nominal }) => [name, nominal]))
    expect(seats).toMatchObject({ exempt: 0, system: 74, 'node-high': 98, 'workload-low': 245, 'global-default': 49 })
  })
})

describe('seats', () => {
  it('are refused with 429 where nobody may wait, and counted', async () => {
    const { control, metrics } = small(undefined)
    const flow = control.classify(alice, asked('get', 'pods', 'a'))
    for (let i = 0; i < 8; i++) expect(control.begin(flow, 1, never)).toBeUndefined()
    await expect(control.begin(flow, 1, never)).rejects.toMatchObject({ code: 429, details: { retryAfterSeconds: 1 } })
    control.end(flow, 1)
    expect(control.begin(flow, 1, never)).toBeUndefined()
    expect(metrics.expose()).toContain(
      'apiserver_flowcontrol_rejected_requests_total{priority_level="catch-all",flow_schema="catch-all",reason="concurrency-limit"} 1',
    )
  })

  it('go to waiting flows in turn, not in the order of arrival', async () => {
    const { control } = small({ queues: 64, handSize: 1, queueLengthLimit: 50 })
    const [flood, single] = [alice, bob].map((one) => control.classify(one, asked('get', 'pods', 'a')))
    for (let i = 0; i < 8; i++) control.begin(flood!, 1, never)
    const order: string[] = []
    const wait = (flow: typeof flood, name: string) => {
      const waiting = control.begin(flow!, 1, never) as Promise<void>
      void waiting.then(() => order.push(name))
    }
    for (let i = 0; i < 20; i++) wait(flood, 'flood')
    wait(single, 'single')
    for (let i = 0; i < 3; i++) {
      control.end(flood!, 1)
      await turn()
    }
    expect(order).toEqual(['flood', 'single', 'flood'])
  })

  it('are waited for in queues of limited length, for a limited time, by who is still there', async () => {
    const { control, clock } = small({ queues: 1, handSize: 1, queueLengthLimit: 2 })
    const flow = control.classify(alice, asked('get', 'pods', 'a'))
    for (let i = 0; i < 8; i++) control.begin(flow, 1, never)
    const gone = new AbortController()
    const [first, second, third] = [0, 1, 2].map((i) => control.begin(flow, 1, () => (i === 0 ? gone.signal : never())))
    await expect(third).rejects.toMatchObject({ code: 429 })
    gone.abort()
    await expect(first).rejects.toMatchObject({ code: 429 })
    clock.advance(20_000)
    await expect(second).rejects.toMatchObject({ code: 429 })
    expect(flow.level.waitingCount).toBe(0)
  })

  it('are borrowed from levels that lend and do not need them', () => {
    const control = new FlowControl(new VirtualClock(), new MetricsRegistry())
    const flow = control.classify(alice, asked('get', 'pods', 'a'))
    expect(flow.level.nominal).toBe(49)
    for (let i = 0; i < 12; i++) expect(control.begin(flow, 10, never)).toBeUndefined()
    expect(flow.level.inUse).toBe(120)
  })

  it('of one turn of the event loop are limited, however fast they are given back', async () => {
    const control = new FlowControl(new VirtualClock(), new MetricsRegistry())
    const flow = control.classify(alice, asked('get', 'pods', 'a'))
    let atOnce = 0
    let later = 0
    const waiting: Promise<void>[] = []
    for (let i = 0; i < 2000; i++) {
      const pending = control.begin(flow, 1, never)
      const end = () => control.end(flow, 1)
      if (pending) waiting.push(pending.then(end).then(() => void later++))
      else end()
      if (!pending) atOnce++
    }
    expect(atOnce).toBe(128)
    await Promise.all(waiting)
    expect(later).toBe(2000 - 128)
  })

  it('of exempt requests have no limit', () => {
    const { control } = small(undefined, 1)
    const flow = control.classify(user('root', 'system:masters'), asked('get', 'pods', 'a'))
    for (let i = 0; i < 1000; i++) expect(control.begin(flow, 1, never)).toBeUndefined()
  })
})

describe('dealHand', () => {
  it('deals different cards, the same each time', () => {
    for (let i = 0; i < 200; i++) {
      const hand = dealHand(`flow ${i}`, 128, 6)
      expect(new Set(hand).size).toBe(6)
      expect(Math.max(...hand)).toBeLessThan(128)
      expect(dealHand(`flow ${i}`, 128, 6)).toEqual(hand)
    }
  })

  it('uses every queue', () => {
    const used = new Set<number>()
    for (let i = 0; i < 500; i++) for (const card of dealHand(`flow ${i}`, 64, 4)) used.add(card)
    expect(used.size).toBe(64)
  })
})
