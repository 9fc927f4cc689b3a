import type { Node, Pod, PodAffinityTerm } from '../../api/generated/core-v1.ts'
import type { Random } from '../../base/random.ts'

const ZONE = 'topology.kubernetes.io/zone'
const HOSTNAME = 'kubernetes.io/hostname'
const KEYS = [ZONE, HOSTNAME, 'rack']
const EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute']

/** Small random clusters in which every rule matters to somebody. */
export class RandomWorld {
  readonly #random: Random
  #number = 0

  constructor(random: Random) {
    this.#random = random
  }

  chance(share: number): boolean {
    return this.#random.next() < share
  }

  pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.#random.next() * list.length)]!
  }

  node(name: string): Node {
    const labels: Record<string, string> = { disk: this.pick(['ssd', 'hdd']) }
    if (this.chance(0.95)) labels[HOSTNAME] = name
    if (this.chance(0.9)) labels[ZONE] = this.pick(['z1', 'z2', 'z3'])
    if (this.chance(0.7)) labels.rack = this.pick(['r1', 'r2', 'r3', 'r4'])
    const taints = this.chance(0.3)
      ? [{ key: this.pick(['dedicated', 'spot']), value: this.pick(['a', 'b']), effect: this.pick(EFFECTS) }]
      : []
    const device: Record<string, string> = this.chance(0.3) ? { 'example.com/device': '2' } : {}
    const allocatable = {
      cpu: this.pick(['1000m', '2000m', '4000m']),
      memory: this.pick(['2000Mi', '8000Mi']),
      ...device,
    }
    // An image has the same size everywhere.
    const image = this.pick([1, 2])
    const sizeBytes = image * image * 250 * 1024 * 1024
    const images = this.chance(0.5) ? [{ names: [`image-${image}:1`], sizeBytes }] : []
    return {
      metadata: { name, labels },
      spec: { taints, ...(this.chance(0.05) && { unschedulable: true }) },
      status: { allocatable: { ...allocatable, pods: this.pick(['3', '10', '110']) }, images },
    }
  }

  pod(): Pod {
    const name = `pod-${this.#number++}`
    const labels: Record<string, string> = { app: this.pick(['a', 'b', 'c']), tier: this.pick(['x', 'y']) }
    const spec: NonNullable<Pod['spec']> = {
      containers: Array.from({ length: this.pick([1, 1, 2]) }, (_, i) => this.#container(i)),
      priority: this.pick([0, 0, 10]),
    }
    if (this.chance(0.15)) spec.nodeSelector = { disk: this.pick(['ssd', 'hdd']) }
    if (this.chance(0.3))
      spec.tolerations = [
        this.chance(0.5)
          ? { key: this.pick(['dedicated', 'spot']), operator: 'Exists' }
          : { key: this.pick(['dedicated', 'spot']), value: this.pick(['a', 'b']), effect: this.pick(EFFECTS) },
      ]
    const affinity = {
      ...this.#nodeAffinity(),
      ...this.#podAffinity('podAffinity'),
      ...this.#podAffinity('podAntiAffinity'),
    }
    if (Object.keys(affinity).length > 0) spec.affinity = affinity
    if (this.chance(0.35)) spec.topologySpreadConstraints = this.#spread()
    const terminating = this.chance(0.1) ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}
    return { metadata: { name, uid: name, namespace: this.pick(['n1', 'n2']), labels, ...terminating }, spec }
  }

  #container(i: number): NonNullable<Pod['spec']>['containers'][number] {
    const requests: Record<string, string> = {}
    if (this.chance(0.8)) requests.cpu = this.pick(['100m', '250m', '600m'])
    if (this.chance(0.8)) requests.memory = this.pick(['100Mi', '500Mi', '1500Mi'])
    if (this.chance(0.1)) requests['example.com/device'] = '1'
    const ports = this.chance(0.1)
      ? [
          {
            containerPort: 80,
            hostPort: this.pick([80, 81]),
            ...(this.chance(0.3) && { hostIP: this.pick(['10.0.0.1', '10.0.0.2']) }),
          },
        ]
      : []
    return { name: `c${i}`, image: `image-${this.pick([1, 2, 3])}:1`, resources: { requests }, ports }
  }

  #nodeAffinity() {
    const expression = () => {
      const operator = this.pick(['In', 'NotIn', 'Exists', 'DoesNotExist'])
      const key = this.pick(['disk', 'rack', ZONE])
      return operator.endsWith('In')
        ? { key, operator, values: [this.pick(['ssd', 'r1', 'z1', 'z2']), this.pick(['hdd', 'r2', 'z3'])] }
        : { key, operator }
    }
    const term = () => ({ matchExpressions: Array.from({ length: this.pick([1, 2]) }, expression) })
    const requiredDuringSchedulingIgnoredDuringExecution = {
      nodeSelectorTerms: [term(), ...(this.chance(0.5) ? [term()] : [])],
    }
    const preferredDuringSchedulingIgnoredDuringExecution = [
      { weight: this.pick([1, 20, 100]), preference: term() },
      { weight: this.pick([1, 20, 100]), preference: term() },
    ]
    const nodeAffinity = {
      ...(this.chance(0.15) && { requiredDuringSchedulingIgnoredDuringExecution }),
      ...(this.chance(0.2) && { preferredDuringSchedulingIgnoredDuringExecution }),
    }
    return Object.keys(nodeAffinity).length > 0 ? { nodeAffinity } : {}
  }

  #term(): PodAffinityTerm {
    return {
      topologyKey: this.pick(KEYS),
      labelSelector: this.pick([
        { matchLabels: { app: this.pick(['a', 'b', 'c']) } },
        { matchExpressions: [{ key: 'tier', operator: 'In', values: [this.pick(['x', 'y'])] }] },
      ]),
      ...(this.chance(0.2) && { namespaces: ['n2'] }),
      ...(this.chance(0.2) && { namespaceSelector: this.pick([{}, { matchLabels: { team: 't1' } }]) }),
    }
  }

  #podAffinity(kind: 'podAffinity' | 'podAntiAffinity') {
    const requiredDuringSchedulingIgnoredDuringExecution = [this.#term(), ...(this.chance(0.2) ? [this.#term()] : [])]
    const preferredDuringSchedulingIgnoredDuringExecution = [
      { weight: this.pick([1, 10, 100]), podAffinityTerm: this.#term() },
    ]
    const rules = {
      ...(this.chance(0.12) && { requiredDuringSchedulingIgnoredDuringExecution }),
      ...(this.chance(0.15) && { preferredDuringSchedulingIgnoredDuringExecution }),
    }
    return Object.keys(rules).length > 0 ? { [kind]: rules } : {}
  }

  #spread(): NonNullable<NonNullable<Pod['spec']>['topologySpreadConstraints']> {
    return Array.from({ length: this.pick([1, 2]) }, (_, i) => ({
      topologyKey: this.pick(KEYS),
      maxSkew: this.pick([1, 2, 4]),
      whenUnsatisfiable: this.pick(['DoNotSchedule', 'ScheduleAnyway']),
      labelSelector: { matchLabels: { app: this.pick(['a', 'b', 'c']) } },
      ...(this.chance(0.2) && i === 0 && { minDomains: this.pick([2, 4]), whenUnsatisfiable: 'DoNotSchedule' }),
      ...(this.chance(0.2) && { nodeAffinityPolicy: this.pick(['Honor', 'Ignore']) }),
      ...(this.chance(0.2) && { nodeTaintsPolicy: this.pick(['Honor', 'Ignore']) }),
    }))
  }
}
