import type { Pod } from '../../api/generated/core-v1.ts'
import { ClusterState } from '../cache/cluster-state.ts'
import { resolveProfiles } from '../configuration.ts'
import { DefaultSelectors } from '../plugins/pod-topology-spread/default-selectors.ts'
import type { Storage } from '../plugins/volume-binding/storage.ts'
import { defaultPlugins } from '../plugins.ts'
import { ClassTable } from './class-table.ts'
import { Cycle } from './cycle.ts'
import { type Attempt, decide, walk } from './decision.ts'
import { NominatedPods } from './nominated-pods.ts'
import type { Verdict } from './reference.contract.ts'

export const NAMESPACES = new Map([
  ['n1', { team: 't1' }],
  ['n2', { team: 't2' }],
])
export const SERVICES: { namespace: string; selector: Record<string, string> }[] = [
  { namespace: 'n1', selector: { app: 'a' } },
  { namespace: 'n1', selector: { tier: 'x' } },
  { namespace: 'n2', selector: { app: 'b', tier: 'y' } },
]

const NOTHING: ReturnType<typeof walk> = { candidates: [], rejections: new Map() }

/** The fast scheduler's parts, fed by hand. */
export class Subject {
  readonly cluster = new ClusterState()
  readonly #selectors = new DefaultSelectors(() => undefined)
  readonly nominated = new NominatedPods(this.cluster)
  readonly #classes = new ClassTable(this.cluster, this.#selectors, this.nominated)
  readonly #profile

  constructor(storage: Storage = {} as Storage) {
    const plugins = defaultPlugins({ selectors: this.#selectors, storage })
    this.#profile = resolveProfiles({}, plugins).get('default-scheduler')!
    for (const [name, labels] of NAMESPACES) this.cluster.setNamespace(name, labels)
    for (const { namespace, selector } of SERVICES)
      this.#selectors.serviceChanged(undefined, { metadata: { namespace }, spec: { selector } })
  }

  attempt(pod: Pod): Attempt {
    const classified = this.#classes.classify(pod)
    const podClass = this.#classes.classOf(this.#profile, classified)
    const { cluster, nominated } = this
    return { pod: classified, podClass, profile: this.#profile, cluster, nominated, cycle: new Cycle(cluster) }
  }

  pick(pod: Pod): string | undefined {
    const decision = decide(this.attempt(pod))
    return 'node' in decision ? this.cluster.nodeName(decision.node) : undefined
  }

  verdicts(pod: Pod): Verdict[] {
    const attempt = this.attempt(pod)
    const decision = decide(attempt)
    const whole = 'diagnosis' in decision ? decision.diagnosis.whole : undefined
    const { candidates, rejections } = whole ? NOTHING : walk(attempt)
    const scores = new Map(candidates.map(({ node, score }) => [node, score]))
    return [...this.cluster.presentNodes()].map((node) => {
      const name = this.cluster.nodeName(node)
      const rejection = whole ?? attempt.podClass.rejectionOf(node) ?? rejections.get(node)
      return rejection ? { node: name, reason: rejection.reasons.join('+') } : { node: name, score: scores.get(node)! }
    })
  }
}
