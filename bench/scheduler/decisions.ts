import type { Node, Pod } from '../../src/api/generated/core-v1.ts'
import { type Random, seededRandom } from '../../src/base/random.ts'
import { ClusterState } from '../../src/scheduler/cache/cluster-state.ts'
import { resolveProfiles } from '../../src/scheduler/configuration.ts'
import { ClassTable } from '../../src/scheduler/framework/class-table.ts'
import { Cycle } from '../../src/scheduler/framework/cycle.ts'
import { decide } from '../../src/scheduler/framework/decision.ts'
import { NominatedPods } from '../../src/scheduler/framework/nominated-pods.ts'
import { DefaultSelectors } from '../../src/scheduler/plugins/pod-topology-spread/default-selectors.ts'
import type { Storage } from '../../src/scheduler/plugins/volume-binding/storage.ts'
import { defaultPlugins } from '../../src/scheduler/plugins.ts'

/** Which rules the pods of a run bring with them. */
export type Mix = 'basic' | 'default spread' | 'mixed'

export interface DecisionRates {
  /** Decisions a second of the first half, with every class to be made, and of the second. */
  readonly cold: number
  readonly steady: number
}

const ZONE = 'topology.kubernetes.io/zone'
const HOSTNAME = 'kubernetes.io/hostname'

/** Decisions alone, without API server: so many pods of 300 templates in bursts, every node considered. */
export function measureDecisions(nodeCount: number, podCount: number, mix: Mix): DecisionRates {
  const random = seededRandom(1)
  const cluster = new ClusterState()
  for (let i = 0; i < nodeCount; i++) cluster.setNode(makeNode(i, random))
  const selectors = new DefaultSelectors(() => undefined)
  const profile = resolveProfiles({}, defaultPlugins({ selectors, storage: {} as Storage })).get('default-scheduler')!
  const nominated = new NominatedPods(cluster)
  const classes = new ClassTable(cluster, selectors, nominated)
  const templates = Array.from({ length: 300 }, (_, i) => makeSpec(i, mix, random))
  if (mix !== 'basic') for (let i = 0; i < 300; i++) selectors.serviceChanged(undefined, makeService(i))
  const pods = burst(templates, podCount, random)
  const half = (from: number, to: number) => {
    const start = process.cpuUsage()
    for (let i = from; i < to; i++) {
      const classified = classes.classify(pods[i]!)
      const podClass = classes.classOf(profile, classified)
      const cycle = new Cycle(cluster)
      const decision = decide({ pod: classified, podClass, profile, cluster, nominated, cycle })
      if ('node' in decision) cluster.addPod(pods[i]!, cluster.nodeName(decision.node), classified.facts)
    }
    const { user, system } = process.cpuUsage(start)
    return ((to - from) * 1e6) / (user + system)
  }
  const middle = podCount / 2
  return { cold: half(0, middle), steady: half(middle, podCount) }
}

const pick = <T>(random: Random, list: readonly T[]): T => list[Math.floor(random.next() * list.length)]!

function makeNode(i: number, random: Random): Node {
  const [type, cpu, memory] = pick(random, [
    ['m8', '8', '32Gi'],
    ['m16', '16', '64Gi'],
    ['c32', '32', '64Gi'],
    ['r16', '16', '128Gi'],
  ] as const)
  const allocatable = { cpu, memory, pods: '110' }
  const labels = {
    [HOSTNAME]: `node-${i}`,
    [ZONE]: `zone-${i % 3}`,
    'node.kubernetes.io/instance-type': type,
    disk: random.next() < 0.5 ? 'ssd' : 'hdd',
    pool: `pool-${Math.floor(random.next() * 8)}`,
  }
  const taints = [
    ...(random.next() < 0.05 ? [{ key: 'dedicated', value: 'gpu', effect: 'NoSchedule' }] : []),
    ...(random.next() < 0.1 ? [{ key: 'spot', value: 'true', effect: 'PreferNoSchedule' }] : []),
  ]
  return { metadata: { name: `node-${i}`, labels }, spec: { taints }, status: { allocatable, capacity: allocatable } }
}

const makeService = (i: number) => ({
  metadata: { name: `app-${i}`, namespace: `ns-${i % 30}` },
  spec: { selector: { app: `app-${i}` } },
})

type Template = Pick<Pod, 'spec'> & { metadata: { namespace: string; labels: Record<string, string> } }

function makeSpec(i: number, mix: Mix, random: Random): Template {
  const tier = pick(random, ['web', 'api', 'db', 'job'])
  const labels = { app: `app-${i}`, tier }
  const requests = {
    cpu: pick(random, ['50m', '100m', '100m', '200m', '250m', '500m', '1']),
    memory: pick(random, ['64Mi', '128Mi', '256Mi', '512Mi', '1Gi', '2Gi']),
  }
  const spec: NonNullable<Pod['spec']> = {
    containers: [{ name: 'main', image: `image-${i}`, resources: { requests } }],
  }
  if (mix === 'mixed') addRules(spec, labels, random)
  return { metadata: { namespace: `ns-${i % 30}`, labels }, spec }
}

function addRules(spec: NonNullable<Pod['spec']>, labels: Record<string, string>, random: Random): void {
  const own = { matchLabels: { app: labels.app! } }
  const chance = (share: number) => random.next() < share
  if (chance(0.15)) spec.nodeSelector = { disk: 'ssd' }
  else if (chance(0.1)) spec.nodeSelector = { pool: `pool-${Math.floor(random.next() * 8)}` }
  if (chance(0.1)) spec.tolerations = [{ key: 'dedicated', operator: 'Exists' }]
  if (chance(0.03)) spec.containers[0]!.ports = [{ containerPort: 80, hostPort: 8000 + Math.floor(random.next() * 20) }]
  if (chance(0.05))
    spec.affinity = {
      podAntiAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [{ labelSelector: own, topologyKey: HOSTNAME }],
      },
    }
  else if (chance(0.06))
    spec.affinity = {
      podAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [
          {
            weight: 100,
            podAffinityTerm: {
              labelSelector: { matchLabels: { tier: 'api' } },
              namespaceSelector: {},
              topologyKey: ZONE,
            },
          },
        ],
      },
    }
  if (chance(0.1))
    spec.topologySpreadConstraints = [
      { maxSkew: 5, topologyKey: ZONE, whenUnsatisfiable: 'DoNotSchedule', labelSelector: own },
    ]
}

/** Pods as rollouts make them: several of one template after another. */
function burst(templates: readonly Template[], count: number, random: Random): Pod[] {
  const pods: Pod[] = []
  while (pods.length < count) {
    const template = pick(random, templates)
    const size = 1 + Math.floor(random.next() * random.next() * 100)
    for (let k = 0; k < size && pods.length < count; k++) {
      const name = `pod-${pods.length}`
      pods.push({ metadata: { ...template.metadata, name, uid: name }, ...(template.spec && { spec: template.spec }) })
    }
  }
  return pods
}
