import type { Pod } from '../../src/api/generated/core-v1.ts'

type Spec = NonNullable<Pod['spec']>

/** What goes on beside the measured pods. */
export interface Churn {
  readonly everyMilliseconds: number
  /** Pods that come and stay. */
  readonly pod?: Partial<Pod>
  /** A pod, a node and a service that come and go. */
  readonly isMixed?: boolean
}

/**
 * A workload of the public scheduler benchmark, re-created from its configuration
 * (https://github.com/kubernetes/kubernetes/tree/master/test/integration/scheduler_perf): what is there, and what is
 * measured.
 */
export interface Workload {
  readonly name: string
  /** Pods a second that kube-scheduler must reach in its own continuous integration; none for what it does not check. */
  readonly threshold?: number
  readonly nodes: number
  readonly existing: number
  readonly measured: number
  readonly node?: (i: number) => { labels?: Record<string, string>; allocatable?: Record<string, string> }
  readonly existingPod?: Partial<Pod>
  readonly pod?: Partial<Pod>
  readonly service?: Record<string, string>
  readonly churn?: Churn
  /** Pods that wait for their gates the whole time. */
  readonly gated?: number
  /** Pods that are bound before and deleted one by one meanwhile. */
  readonly deleting?: { readonly pods: number; readonly perSecond: number }
}

const ZONE = 'topology.kubernetes.io/zone'
const HOSTNAME = 'kubernetes.io/hostname'
const IMAGE = 'registry.k8s.io/pause:3.10.1'
const zoned = (zones: readonly string[]) => (i: number) => ({ labels: { [ZONE]: zones[i % zones.length]! } })

/** The pod of most of these workloads: its limits are its requests. */
const asking = (cpu = '100m'): Spec => {
  const requests = { cpu, memory: '500Mi' }
  const ports = [{ containerPort: 80 }]
  return { containers: [{ name: 'pause', image: IMAGE, ports, resources: { limits: { ...requests }, requests } }] }
}
const light: Spec = { containers: [{ name: 'pause', image: IMAGE }], terminationGracePeriodSeconds: 0 }
const hopeless: Spec = {
  containers: [{ name: 'pause', image: IMAGE, resources: { requests: { cpu: '9', memory: '500Mi' } } }],
  priority: 10,
}

export const DEFAULT_POD: Partial<Pod> = { spec: asking() }
export const GATED_POD: Partial<Pod> = { spec: { ...light, schedulingGates: [{ name: 'test.k8s.io/hold' }] } }
export const HOPELESS_POD: Partial<Pod> = { spec: hopeless }

const labelled = (color: string, affinity?: Spec['affinity'], more: Partial<Spec> = {}): Partial<Pod> => ({
  metadata: { labels: { color } },
  spec: { ...asking(), ...(affinity && { affinity }), ...more },
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
const inZones: Partial<Pod> = {
  spec: {
    ...asking(),
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchExpressions: [{ key: ZONE, operator: 'In', values: ['zone1', 'zone2'] }] }],
        },
      },
    },
  },
}

const preemptable: Partial<Pod> = { spec: { ...asking('900m'), terminationGracePeriodSeconds: 0 } }
const preempting: Partial<Pod> = { spec: { ...asking('3'), priority: 10 } }

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
    existingPod: inZones,
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
    name: 'DefaultTopologySpreading',
    threshold: 160,
    ...FIVE,
    existing: 5000,
    measured: 50_000,
    node: zoned(['moon-1', 'moon-2', 'moon-3']),
    service: { app: 'blue' },
    pod: { metadata: { labels: { app: 'blue' } }, spec: asking() },
  },
  {
    // Pods that fit are measured, while others come that must preempt three pods each.
    name: 'PreemptionAsync',
    threshold: 570,
    ...FIVE,
    existing: 20_000,
    measured: 5000,
    existingPod: preemptable,
    churn: { everyMilliseconds: 200, pod: preempting },
  },
  {
    // Every pod that is measured preempts three others. Its authors check no rate at this size.
    name: 'PreemptionBasic',
    ...FIVE,
    existing: 20_000,
    measured: 5000,
    existingPod: preemptable,
    pod: preempting,
  },
  {
    name: 'Unschedulable',
    threshold: 590,
    ...FIVE,
    existing: 100,
    measured: 10_000,
    churn: { everyMilliseconds: 200, pod: HOPELESS_POD },
  },
  {
    name: 'SchedulingWithMixedChurn',
    threshold: 710,
    ...FIVE,
    existing: 0,
    measured: 10_000,
    churn: { everyMilliseconds: 1000, isMixed: true },
  },
  {
    name: 'SchedulingWhileGated',
    threshold: 910,
    nodes: 1,
    existing: 0,
    measured: 20_000,
    gated: 10_000,
    deleting: { pods: 20_000, perSecond: 50 },
    pod: { spec: light },
    node: () => ({ allocatable: { cpu: '4', memory: '32Gi', pods: '90000' } }),
  },
]
