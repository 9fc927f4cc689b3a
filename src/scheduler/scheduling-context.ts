import type { Pod } from '../api/generated/core-v1.ts'
import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import type { Client } from '../client/client.ts'
import type { InformerFactory } from '../client/informer-factory.ts'
import { ClusterState } from './cache/cluster-state.ts'
import { DEFAULT_SCHEDULER_NAME, resolveProfiles, type SchedulerConfiguration } from './configuration.ts'
import { ClaimUsers } from './feed/claim-users.ts'
import { type InformedStorage, informerStorage } from './feed/informer-storage.ts'
import { workloadLookup } from './feed/workloads.ts'
import { type Classified, ClassTable } from './framework/class-table.ts'
import { Cycle } from './framework/cycle.ts'
import type { Attempt } from './framework/decision.ts'
import { NominatedPods } from './framework/nominated-pods.ts'
import type { Profile } from './framework/profile.ts'
import { DefaultSelectors } from './plugins/pod-topology-spread/default-selectors.ts'
import { defaultPlugins } from './plugins.ts'
import { DisruptionBudgets } from './preemption/disruption-budgets.ts'
import { Preemption } from './preemption/preemption.ts'

export interface SchedulingSources {
  readonly client: Client
  readonly informers: InformerFactory
  readonly clock: Clock
  readonly random: Random
}

/** Everything a decision is made from, and nothing that acts. */
export class SchedulingContext {
  readonly cluster = new ClusterState()
  readonly nominated = new NominatedPods(this.cluster)
  readonly budgets = new DisruptionBudgets()
  readonly claimUsers = new ClaimUsers()
  readonly selectors: DefaultSelectors
  readonly storage: InformedStorage
  readonly profiles: ReadonlyMap<string, Profile>
  readonly preemption: Preemption
  readonly #classes: ClassTable

  constructor(sources: SchedulingSources, configuration: SchedulerConfiguration) {
    const { client, clock, informers, random } = sources
    this.selectors = new DefaultSelectors(workloadLookup(informers))
    this.storage = informerStorage(client, clock, informers, this.claimUsers.of)
    this.profiles = resolveProfiles(configuration, defaultPlugins(this))
    this.preemption = new Preemption(this.budgets, random)
    this.#classes = new ClassTable(this.cluster, this.selectors, this.nominated)
  }

  /** The profile that is responsible for a pod; undefined if another scheduler is. */
  profileOf(pod: Pod): Profile | undefined {
    return this.profiles.get(pod.spec?.schedulerName ?? DEFAULT_SCHEDULER_NAME)
  }

  /** Changes when pods have to be classified anew. */
  get classVersion(): number {
    return this.#classes.version
  }

  classify(pod: Pod): Classified {
    return this.#classes.classify(pod)
  }

  attempt(pod: Classified, profile: Profile): Attempt {
    const { cluster, nominated } = this
    const podClass = this.#classes.classOf(profile, pod)
    return { pod, podClass, profile, cluster, nominated, cycle: new Cycle(cluster) }
  }
}
