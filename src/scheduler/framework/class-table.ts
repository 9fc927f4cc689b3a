import type { Pod } from '../../api/generated/core-v1.ts'
import { termMatches } from '../cache/affinity-term.ts'
import type { ClusterState } from '../cache/cluster-state.ts'
import { pinnedNodes } from '../cache/node-selection.ts'
import { individualFacts, type PodFacts, podFacts } from '../cache/pod-facts.ts'
import type { DefaultSelectors } from '../plugins/pod-topology-spread/default-selectors.ts'
import { classSignature, withoutPinnedNodes } from './class-signature.ts'
import type { NominatedPods } from './nominated-pods.ts'
import { PodClass } from './pod-class.ts'
import type { Profile } from './profile.ts'
import { SharedAnswers } from './shared-answers.ts'

/** So many numbers may be remembered for all classes together. */
const MAX_REMEMBERED = 64_000_000
const NUMBERS_PER_NODE = 10
const MIN_CLASSES = 64

/** Pod and class, as they were found together. */
export interface Classified {
  readonly facts: PodFacts
  readonly signature: string
  readonly pinned: ReadonlySet<string> | undefined
}

/** The classes of pods met so far; those not met for long are forgotten. */
export class ClassTable {
  readonly #cluster: ClusterState
  readonly #selectors: DefaultSelectors
  readonly #nominated: NominatedPods
  /** The order is that of use. */
  readonly #classes = new Map<string, PodClass>()
  #answers: SharedAnswers
  #generation: number

  constructor(cluster: ClusterState, selectors: DefaultSelectors, nominated: NominatedPods) {
    this.#cluster = cluster
    this.#nominated = nominated
    this.#selectors = selectors
    this.#answers = new SharedAnswers(cluster)
    this.#generation = cluster.generation
  }

  get size(): number {
    return this.#classes.size
  }

  /** Changes when pods may have to be classified anew. */
  get version(): number {
    return this.#selectors.version + this.#cluster.counts.labelKeys.size
  }

  classify(pod: Pod): Classified {
    const pinned = pinnedNodes(pod.spec!)
    // Domains of a spread constraint are counted over the nodes that the affinity allows: then the names matter.
    const isPinned = pinned !== undefined && !pod.spec!.topologySpreadConstraints?.length && hasUniformTerms(pod)
    const belongsTo = pod.spec!.topologySpreadConstraints?.length ? '' : this.#selectors.selectorText(pod)
    const signature = classSignature(pod, this.#cluster.counts.labelKeys, belongsTo, isPinned)
    const like = this.#classes.get(signature)?.facts
    // What the signature covers needs to be read only once.
    const facts = like && !pod.status?.containerStatuses ? { ...like, ...individualFacts(pod) } : podFacts(pod)
    return { facts, signature, pinned: isPinned ? pinned : undefined }
  }

  classOf(profile: Profile, { facts, signature, pinned }: Classified): PodClass {
    if (this.#generation !== this.#cluster.generation) {
      this.#classes.clear()
      this.#answers = new SharedAnswers(this.#cluster)
      this.#generation = this.#cluster.generation
    }
    const known = this.#classes.get(signature)
    if (known?.isCurrent(this.#concerns)) {
      this.#classes.delete(signature)
      this.#classes.set(signature, known)
      return known
    }
    known?.release()
    const pod = pinned ? withoutPinnedNodes(facts.pod) : facts.pod
    const sources = { cluster: this.#cluster, shared: this.#answers, nominated: this.#nominated }
    const made = new PodClass(profile, pinned ? { ...facts, pod } : facts, sources)
    this.#classes.delete(signature)
    this.#classes.set(signature, made)
    this.#forget()
    return made
  }

  readonly #concerns = (carried: ClusterState['counts']['carried'][number], facts: PodFacts): boolean =>
    termMatches(carried.term, facts.namespace, facts.pod.metadata.labels, this.#cluster.namespaceLabels)

  #forget(): void {
    const limit = Math.max(MIN_CLASSES, MAX_REMEMBERED / (NUMBERS_PER_NODE * this.#cluster.columns.capacity))
    if (this.#classes.size <= limit) return
    const [oldest, podClass] = this.#classes.entries().next().value!
    this.#classes.delete(oldest)
    podClass.release()
  }
}

/** Terms that differ in more than the name cannot be taken apart. */
function hasUniformTerms(pod: Pod): boolean {
  return (
    pod.spec!.affinity!.nodeAffinity!.requiredDuringSchedulingIgnoredDuringExecution!.nodeSelectorTerms.length === 1
  )
}
