import type { Pod } from '../../src/api/generated/core-v1.ts'

type Spec = NonNullable<Pod['spec']>

/** A workload of the public scheduler benchmark, re-created: what is there, and what is measured. */
export interface Workload {
  readonly name: string
  /** Pods a second that kube-scheduler must reach in its own continuous integration. */
  readonly threshold: number
  readonly nodes: number
  readonly existing: number
  readonly measured: number
  readonly node?: (i: number) => { labels?: Record<string, string>; allocatable?: Record<string, string> }
  readonly existingPod?: (i: number) => Partial<Pod>
  readonly pod?: (i: number) => Partial<Pod>
  /** What goes on beside: pods that never fit, objects that come and go. */
  readonly churn?: 'unschedulable' | 'mixed'
  readonly gated?: number
}

const ZONE = 'topology.kubernetes.io/zone'
const HOSTNAME = 'kubernetes.io/hostname'
const zoned = (zones: readonly string[]) => (i: number) => ({ labels: { [ZONE]: zones[i % zones.length]! } })

export const requests = (cpu = '100m', memory = '500Mi'): Spec['containers'] => [
  { name: 'pause', image: 'registry.k8s.io/pause:3.10', resources: { requests: { cpu, memory } } },
]

const labelled =
  (color: string, affinity?: Spec['affinity'], more: Partial<Spec> = {}) =>
  (): Partial<Pod> => ({
    metadata: { labels: { color } },
    spec: { containers: requests(), ...(affinity && { affinity }), ...more },
  })

const term = (color: string, topologyKey: string) => ({ labelSelector: { matchLabels: { color } }, topologyKey })
const required = (color: string, key: string) => ({
  requiredDuringSchedulingIgnoredDuringExecution: [term(color, key)],
})
const preferred = (color: string, key: string) => ({
  preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, podAffinityTerm: term(color, key) }],
})
const spread = (whenUnsatisfiable: string) =>
  labelled('blue', undefined, {
    topologySpreadConstraints: [
      { maxSkew: 5, topologyKey: ZONE, whenUnsatisfiable, labelSelector: { matchLabels: { color: 'blue' } } },
    ],
  })
const inZones = (): Partial<Pod> => ({
  spec: {
    containers: requests(),
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchExpressions: [{ key: ZONE, operator: 'In', values: ['zone1', 'zone2'] }] }],
        },
      },
    },
  },
})

const FIVE = { nodes: 5000 }

export const WORKLOADS: readonly Workload[] = [
  { name: 'SchedulingBasic', threshold: 680, ...FIVE, existing: 1000, measured: 10_000 },
  {
    name: 'SchedulingNodeAffinity',
    threshold: 540,
    ...FIVE,
    existing: 5000,
    measured: 10_000,
    node: zoned(['zone1']),
    pod: inZones,
  },
  {
    name: 'SchedulingPodAntiAffinity',
    threshold: 180,
    ...FIVE,
    existing: 1000,
    measured: 2000,
    existingPod: labelled('green', { podAntiAffinity: required('green', HOSTNAME) }),
    pod: labelled('green', { podAntiAffinity: required('green', HOSTNAME) }),
  },
  {
    name: 'SchedulingPodAffinity',
    threshold: 70,
    ...FIVE,
    existing: 5000,
    measured: 5000,
    node: zoned(['zone1']),
    existingPod: labelled('blue', { podAffinity: required('blue', ZONE) }),
    pod: labelled('blue', { podAffinity: required('blue', ZONE) }),
  },
  {
    name: 'SchedulingPreferredPodAffinity',
    threshold: 160,
    ...FIVE,
    existing: 5000,
    measured: 5000,
    existingPod: labelled('red', { podAffinity: preferred('red', HOSTNAME) }),
    pod: labelled('red', { podAffinity: preferred('red', HOSTNAME) }),
  },
  {
    name: 'SchedulingPreferredPodAntiAffinity',
    threshold: 190,
    ...FIVE,
    existing: 5000,
    measured: 5000,
    existingPod: labelled('yellow', { podAntiAffinity: preferred('yellow', HOSTNAME) }),
    pod: labelled('yellow', { podAntiAffinity: preferred('yellow', HOSTNAME) }),
  },
  {
    name: 'TopologySpreading',
    threshold: 460,
    ...FIVE,
    existing: 5000,
    measured: 5000,
    node: zoned(['moon-1', 'moon-2', 'moon-3']),
    pod: spread('DoNotSchedule'),
  },
  {
    name: 'PreferredTopologySpreading',
    threshold: 340,
    ...FIVE,
    existing: 5000,
    measured: 5000,
    node: zoned(['moon-1', 'moon-2', 'moon-3']),
    pod: spread('ScheduleAnyway'),
  },
  {
    name: 'PreemptionAsync',
    threshold: 570,
    ...FIVE,
    existing: 20_000,
    measured: 5000,
    existingPod: () => ({ spec: { containers: requests('900m', '500Mi'), terminationGracePeriodSeconds: 0 } }),
    pod: () => ({ spec: { containers: requests('3', '500Mi'), priority: 10 } }),
  },
  { name: 'Unschedulable', threshold: 590, ...FIVE, existing: 100, measured: 10_000, churn: 'unschedulable' },
  { name: 'SchedulingWithMixedChurn', threshold: 710, ...FIVE, existing: 0, measured: 10_000, churn: 'mixed' },
  {
    name: 'SchedulingWhileGated',
    threshold: 910,
    nodes: 1,
    existing: 0,
    measured: 10_000,
    gated: 10_000,
    node: () => ({ allocatable: { cpu: '10k', memory: '100Ti', pods: '50k' } }),
  },
]
