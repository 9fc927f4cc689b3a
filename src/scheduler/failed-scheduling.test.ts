import { describe, expect, test } from 'vitest'
import type { Pod } from '../api/generated/core-v1.ts'
import { priorityClassKind } from '../api/kinds/scheduling/priority-class.ts'
import { asking, type NodeParts, startWorkbench } from './workbench.contract.ts'

type Spec = Partial<NonNullable<Pod['spec']>>

const HOSTNAME = 'kubernetes.io/hostname'
const like = (app: string) => ({ labelSelector: { matchLabels: { app } }, topologyKey: HOSTNAME })
const required = (app: string) => ({ requiredDuringSchedulingIgnoredDuringExecution: [like(app)] })
const ANY = { matchExpressions: [{ key: 'app', operator: 'Exists' }] }
const spread = (topologyKey: string): Spec => ({
  topologySpreadConstraints: [
    {
      maxSkew: 1,
      topologyKey,
      whenUnsatisfiable: 'DoNotSchedule',
      labelSelector: ANY,
      minDomains: 2,
    },
  ],
})
const onPort = (hostPort: number): Spec => ({
  containers: [{ name: 'main', image: 'registry.example/app:1', ports: [{ containerPort: 80, hostPort }] }],
})

const NOBODY = '1 No preemption victims found for incoming pod.'
const NOT_HELPFUL = '1 Preemption is not helpful for scheduling.'

interface Row {
  readonly reason: string
  readonly after: string
  readonly pod: Spec
  readonly node?: NodeParts
  /** A pod labelled `app: there` that is on the node before. */
  readonly there?: Spec
}

describe('FailedScheduling on the only node', () => {
  test.each<Row>([
    { reason: '1 Insufficient cpu', pod: asking('8'), after: NOT_HELPFUL },
    {
      reason: '1 Insufficient memory',
      pod: asking('1', '3Gi'),
      node: { memory: '4Gi' },
      there: asking('1', '2Gi'),
      after: NOBODY,
    },
    { reason: '1 Insufficient cpu, 1 Insufficient memory', pod: asking('8', '64Gi'), after: NOT_HELPFUL },
    {
      reason: '1 Insufficient example.com/gpu',
      pod: { containers: [{ name: 'm', image: 'a:1', resources: { limits: { 'example.com/gpu': '1' } } }] },
      after: NOT_HELPFUL,
    },
    { reason: '1 Too many pods', pod: {}, node: { pods: '1' }, there: {}, after: NOBODY },
    { reason: '1 node(s) were unschedulable', pod: {}, node: { unschedulable: true }, after: NOT_HELPFUL },
    {
      reason: '1 node(s) had untolerated taint(s)',
      pod: {},
      node: { taints: [{ key: 'gpu', value: 'yes', effect: 'NoSchedule' }] },
      after: NOT_HELPFUL,
    },
    {
      reason: "1 node(s) didn't match Pod's node affinity/selector",
      pod: { nodeSelector: { disk: 'ssd' } },
      after: NOT_HELPFUL,
    },
    {
      reason: "1 node(s) didn't have free ports for the requested pod ports",
      pod: onPort(80),
      there: onPort(80),
      after: NOBODY,
    },
    {
      reason: "1 node(s) didn't match pod topology spread constraints",
      pod: spread(HOSTNAME),
      there: {},
      after: NOBODY,
    },
    {
      reason: "1 node(s) didn't match pod topology spread constraints (missing required label)",
      pod: spread('rack'),
      after: NOT_HELPFUL,
    },
    {
      reason: "1 node(s) didn't match pod affinity rules",
      pod: { affinity: { podAffinity: required('else') } },
      after: NOT_HELPFUL,
    },
    {
      reason: "1 node(s) didn't match pod anti-affinity rules",
      pod: { affinity: { podAntiAffinity: required('there') } },
      there: {},
      after: NOBODY,
    },
    {
      reason: "1 node(s) didn't satisfy existing pods anti-affinity rules",
      pod: {},
      there: { affinity: { podAntiAffinity: required('new') } },
      after: NOBODY,
    },
  ])('$reason', async ({ reason, pod, node, there, after }) => {
    await using bench = await startWorkbench()
    await bench.node('a', node)
    if (there) await bench.pod('there', there, { labels: { app: 'there' } })
    await bench.settled()
    await bench.pod('p', pod, { labels: { app: 'new' } })
    await bench.settled()
    expect(bench.events.filter((text) => text.startsWith('p '))).toEqual([
      `p FailedScheduling: 0/1 nodes are available: ${reason}. ` +
        `no new claims to deallocate, preemption: 0/1 nodes are available: ${after}`,
    ])
  })

  test('no node at all', async () => {
    await using bench = await startWorkbench()
    await bench.pod('p')
    await bench.settled()
    expect(bench.events).toEqual(['p FailedScheduling: no nodes available to schedule pods'])
  })

  test('nothing more is said where somebody is made to go', async () => {
    await using bench = await startWorkbench()
    await bench.client.resource(priorityClassKind).create({ metadata: { name: 'high' }, value: 10 })
    await bench.node('a')
    await bench.pod('there', asking('3'))
    await bench.settled()
    await bench.pod('p', { ...asking('3'), priorityClassName: 'high', priority: 10 })
    await bench.settled()
    expect(bench.events).toContain('p FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu.')
    expect((await bench.get('p')).status?.nominatedNodeName).toBe('a')
  })
})
