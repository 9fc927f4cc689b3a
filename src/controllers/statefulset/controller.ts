import type { ControllerRevision, StatefulSet } from '../../api/generated/apps-v1.ts'
import type { PersistentVolumeClaim, Pod } from '../../api/generated/core-v1.ts'
import { statefulSetKind } from '../../api/kinds/apps/stateful-set/kind.ts'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import { deepEqual } from '../../base/deep-equal.ts'
import type { Informer } from '../../client/informer.ts'
import {
  type Controller,
  type ControllerContext,
  ownKey,
  type ReconcileResult,
  splitKey,
  type Watch,
  watch,
} from '../controller.ts'
import { RevisionHistory } from '../controller-revision/history.ts'
import { claim } from '../pod-control/claim.ts'
import { controllerIndex } from '../pod-control/owner.ts'
import { nextAvailableIn } from '../pod-control/pod-state.ts'
import { compiledSelector } from '../pod-control/selector.ts'
import { watchDependents } from '../pod-control/watch-dependents.ts'
import { ordinalOf, parsePodName, revisionOf } from './identity.ts'
import { StatefulSetReconciler } from './reconcile.ts'
import { statefulSetStatus } from './status.ts'

const selectorOf = (set: StatefulSet) => compiledSelector(set.spec?.selector)

/** Keeps pods that are not alike: each with a name, a place in the order, and volumes of its own. */
export function statefulSetController(context: ControllerContext): Controller {
  const loop = new StatefulSetLoop(context)
  return { name: 'statefulset-controller', workers: 5, watches: loop.watches, reconcile: (key) => loop.reconcile(key) }
}

class StatefulSetLoop {
  readonly watches: readonly Watch[]
  readonly #context: ControllerContext
  readonly #sets: Informer<StatefulSet>
  readonly #pods: Informer<Pod>
  readonly #history: RevisionHistory<StatefulSet>
  readonly #reconciler: StatefulSetReconciler

  constructor(context: ControllerContext) {
    const { informers } = context
    this.#context = context
    this.#sets = informers.informer(statefulSetKind)
    this.#pods = informers.informer(podKind, { indexes: controllerIndex })
    this.#history = new RevisionHistory(context, statefulSetKind, 'controller.kubernetes.io/hash')
    this.#reconciler = new StatefulSetReconciler(context)
    this.watches = [
      watch(this.#sets, ownKey),
      watchDependents(this.#pods, this.#sets, 'StatefulSet', selectorOf),
      watch(this.#reconciler.claims.informer, setOfDeletedClaim),
      // Woken by none, but it must know them all before it starts.
      watch(this.#history.informer, () => []),
    ]
  }

  async reconcile(key: string): Promise<ReconcileResult | void> {
    const set = this.#sets.get(key)
    if (!set) return
    const pods = await this.#podsOf(set, key)
    const known = await this.#history.list(set, selectorOf(set))
    const { revision: update, collisionCount } = await this.#history.current(set, known)
    const current = known.find(({ metadata }) => metadata.name === set.status?.currentRevision) ?? update
    try {
      if (!set.metadata.deletionTimestamp) await this.#reconciler.reconcile(set, pods, { current, update })
    } finally {
      const names = { current: current.metadata.name!, update: update.metadata.name!, collisionCount }
      const status = statefulSetStatus(set, pods, names, this.#context.clock.now())
      if (!deepEqual(status, set.status)) await this.#resource(key).updateStatus({ ...set, status })
    }
    await this.#truncate(set, pods, known, [current, update])
    const retryAfter = nextAvailableIn(pods, set.spec?.minReadySeconds, this.#context.clock.now())
    if (retryAfter !== undefined) return { retryAfter }
  }

  #podsOf(set: StatefulSet, key: string): Promise<Pod[]> {
    const { client } = this.#context
    return claim<Pod>({
      owner: set,
      ownerKind: statefulSetKind,
      selector: selectorOf(set),
      accepts: (pod) => ordinalOf(set, pod) !== undefined,
      informer: this.#pods,
      dependents: client.resource(podKind).namespace(splitKey(key).namespace),
      owners: this.#resource(key),
    })
  }

  #truncate(set: StatefulSet, pods: readonly Pod[], known: ControllerRevision[], live: ControllerRevision[]) {
    const inUse = new Set([...live.map(({ metadata }) => metadata.name), ...pods.map(revisionOf)])
    const unused = known.filter(({ metadata }) => !inUse.has(metadata.name))
    return this.#history.truncate(set, unused, set.spec?.revisionHistoryLimit ?? 10)
  }

  #resource(key: string) {
    return this.#context.client.resource(statefulSetKind).namespace(splitKey(key).namespace)
  }
}

/** A claim that went with its pod makes way for the next pod of that name. */
function setOfDeletedClaim(
  old: PersistentVolumeClaim | undefined,
  current: PersistentVolumeClaim | undefined,
): string[] {
  if (current || !old) return []
  return (old.metadata.ownerReferences ?? [])
    .filter((reference) => reference.kind === 'Pod')
    .flatMap((reference) => parsePodName(reference.name)?.set ?? [])
    .map((set) => `${old.metadata.namespace}/${set}`)
}
