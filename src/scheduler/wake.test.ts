import { describe, expect, test } from 'vitest'
import type { Pod } from '../api/generated/core-v1.ts'
import { namespaceKind } from '../api/kinds/core/namespace.ts'
import { nodeKind } from '../api/kinds/core/node/kind.ts'
import { persistentVolumeKind } from '../api/kinds/core/persistent-volume/kind.ts'
import { persistentVolumeClaimKind } from '../api/kinds/core/persistent-volume-claim/kind.ts'
import { podKind } from '../api/kinds/core/pod/kind.ts'
import { asking, startWorkbench, type Workbench } from './workbench.contract.ts'

type Spec = Partial<NonNullable<Pod['spec']>>

/** Why a pod waits, and what changes that. */
interface Wait {
  readonly because: string
  readonly spec: Spec
  readonly before?: (bench: Workbench) => Promise<unknown>
  readonly change: (bench: Workbench) => Promise<unknown>
}

const HOSTNAME = 'kubernetes.io/hostname'
const pods = (bench: Workbench) => bench.client.resource(podKind).namespace('default')
const nodes = (bench: Workbench) => bench.client.resource(nodeKind)
const remove = (bench: Workbench, name: string) => pods(bench).delete(name, { gracePeriodSeconds: 0 })
const onPort = { containers: [{ name: 'main', image: 'x', ports: [{ containerPort: 80, hostPort: 8080 }] }] }
const near = (kind: 'podAffinity' | 'podAntiAffinity', more: object = {}): Spec => ({
  affinity: {
    [kind]: {
      requiredDuringSchedulingIgnoredDuringExecution: [
        { labelSelector: { matchLabels: { app: 'x' } }, topologyKey: HOSTNAME, ...more },
      ],
    },
  },
})
const claiming: Spec = { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'claim' } }] }

const WAITS: readonly Wait[] = [
  {
    because: 'Insufficient cpu',
    spec: asking('3'),
    before: (bench) => bench.pod('other', asking('3')),
    change: (bench) => remove(bench, 'other'),
  },
  {
    because: 'Insufficient cpu',
    spec: asking('9'),
    change: (bench) => nodes(bench).patch('a', { status: { allocatable: { cpu: '10' } } }, { subresource: 'status' }),
  },
  {
    because: 'node(s) were unschedulable',
    spec: {},
    before: (bench) => nodes(bench).patch('a', { spec: { unschedulable: true } }),
    change: (bench) => nodes(bench).patch('a', { spec: { unschedulable: null } }),
  },
  {
    because: 'node(s) had untolerated taint(s)',
    spec: {},
    before: (bench) => nodes(bench).patch('a', { spec: { taints: [{ key: 'k', effect: 'NoSchedule' }] } }),
    change: (bench) => nodes(bench).patch('a', { spec: { taints: null } }),
  },
  {
    because: "node(s) didn't match Pod's node affinity/selector",
    spec: { nodeSelector: { disk: 'ssd' } },
    change: (bench) => nodes(bench).patch('a', { metadata: { labels: { disk: 'ssd' } } }),
  },
  {
    because: "node(s) didn't have free ports for the requested pod ports",
    spec: onPort,
    before: (bench) => bench.pod('other', onPort),
    change: (bench) => remove(bench, 'other'),
  },
  {
    because: "node(s) didn't match pod affinity rules",
    spec: near('podAffinity'),
    change: (bench) => bench.pod('other', {}, { labels: { app: 'x' } }),
  },
  {
    because: "node(s) didn't match pod affinity rules",
    spec: near('podAffinity'),
    before: (bench) => bench.pod('other'),
    change: (bench) => pods(bench).patch('other', { metadata: { labels: { app: 'x' } } }),
  },
  {
    because: "node(s) didn't match pod affinity rules",
    spec: near('podAffinity', { namespaceSelector: { matchLabels: { team: 'x' } } }),
    before: (bench) => bench.pod('other', {}, { labels: { app: 'x' } }),
    change: (bench) => bench.client.resource(namespaceKind).patch('default', { metadata: { labels: { team: 'x' } } }),
  },
  {
    because: "node(s) didn't match pod anti-affinity rules",
    spec: near('podAntiAffinity'),
    before: (bench) => bench.pod('other', {}, { labels: { app: 'x' } }),
    change: (bench) => pods(bench).patch('other', { metadata: { labels: { app: 'y' } } }),
  },
  {
    because: "node(s) didn't match pod topology spread constraints",
    spec: {
      topologySpreadConstraints: [
        {
          topologyKey: HOSTNAME,
          maxSkew: 1,
          minDomains: 2,
          whenUnsatisfiable: 'DoNotSchedule',
          labelSelector: { matchLabels: { app: 'x' } },
        },
      ],
    },
    before: async (bench) => {
      await bench.pod('other', {}, { labels: { app: 'x' } })
      await bench.pod('another', {}, { labels: { app: 'x' } })
    },
    change: async (bench) => {
      await remove(bench, 'other')
      await remove(bench, 'another')
    },
  },
  {
    because: 'persistentvolumeclaim "claim" not found',
    spec: claiming,
    change: async (bench) => {
      await bench.client.resource(persistentVolumeKind).create({
        metadata: { name: 'volume' },
        spec: {
          capacity: { storage: '1Gi' },
          accessModes: ['ReadWriteOnce'],
          hostPath: { path: '/v' },
          claimRef: { namespace: 'default', name: 'claim' },
        },
      })
      const claims = bench.client.resource(persistentVolumeClaimKind).namespace('default')
      await claims.create({
        metadata: { name: 'claim', annotations: { 'pv.kubernetes.io/bind-completed': 'yes' } },
        spec: {
          accessModes: ['ReadWriteOnce'],
          resources: { requests: { storage: '1Gi' } },
          storageClassName: '',
          volumeName: 'volume',
        },
      })
      await claims.patch('claim', { status: { phase: 'Bound' } }, { subresource: 'status' })
    },
  },
]

describe('a pod that waits', () => {
  test.each(WAITS)('because $because is woken by what changes that, and by nothing else', async (wait) => {
    await using bench = await startWorkbench()
    await bench.node('a')
    await wait.before?.(bench)
    await bench.settled()
    await bench.pod('waiting', wait.spec)
    await bench.settled()
    const told = () => bench.events.filter((text) => text.startsWith('waiting '))
    expect(told()).toHaveLength(1)
    expect(told()[0]).toContain(wait.because)
    // A pod that is none of its business comes and goes.
    await bench.pod('passing', { containers: [{ name: 'main', image: 'x' }], tolerations: [{ operator: 'Exists' }] })
    await bench.settled()
    await remove(bench, 'passing')
    await bench.settled()
    expect(told()).toHaveLength(1)
    await wait.change(bench)
    await bench.settled()
    expect(told().at(-1)).toBe('waiting Scheduled: Successfully assigned default/waiting to a')
  })

  test('for room that a resize gives back gets it when the kubelet has done it, not when it is asked for', async () => {
    await using bench = await startWorkbench()
    await bench.node('a')
    await bench.pod('shrinking', asking('3'))
    await bench.settled()
    const holds = (cpu: string) =>
      pods(bench).patch(
        'shrinking',
        {
          status: {
            phase: 'Running',
            containerStatuses: [
              {
                name: 'main',
                image: 'x',
                imageID: 'x',
                ready: true,
                restartCount: 0,
                resources: { requests: { cpu, memory: '64Mi' } },
              },
            ],
          },
        },
        { subresource: 'status' },
      )
    await holds('3')
    await bench.pod('waiting', asking('2'))
    await bench.settled()
    await pods(bench).patch(
      'shrinking',
      { spec: { containers: [{ name: 'main', resources: { requests: { cpu: '1' } } }] } },
      { subresource: 'resize', type: 'application/strategic-merge-patch+json' },
    )
    await bench.settled()
    expect(await bench.nodeOf('waiting')).toBeUndefined()
    await holds('1')
    await bench.settled()
    expect(await bench.nodeOf('waiting')).toBe('a')
  })
})
