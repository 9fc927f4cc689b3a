import type { Pod } from '../../api/generated/core-v1.ts'
import type { PodDisruptionBudget } from '../../api/generated/policy-v1.ts'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import { podDisruptionBudgetKind } from '../../api/kinds/policy/pod-disruption-budget.ts'
import { matchesLabels } from '../../api/meta/label-selector.ts'
import { deepEqual } from '../../base/deep-equal.ts'
import { byNamespace } from '../../client/informer.ts'
import { type Controller, type ControllerContext, ownKey, watch } from '../controller.ts'
import { countsAlike, selectorOf } from './pods.ts'
import { reconcileBudget } from './reconcile.ts'
import { expectedScales } from './scales.ts'
import { clearStaleDisruption, staleAfter } from './stale-disruption.ts'
import { Tally } from './tally.ts'

const BY_NAMESPACE = 'namespace'
const POD = 'pod:'

/**
 * Computes how many pods of each PodDisruptionBudget may be disrupted now, which evictions then draw on. Keys: of
 * budgets, and `pod:NAMESPACE/NAME` for pods that were to be disrupted and still are there.
 */
export function disruptionController(context: ControllerContext): Controller {
  const { client, clock, informers } = context
  const budgets = informers.informer(podDisruptionBudgetKind, { indexes: { [BY_NAMESPACE]: byNamespace } })
  const pods = informers.informer(podKind, { indexes: { [BY_NAMESPACE]: byNamespace } })

  const tallies = new Map<string, Tally>()

  function* budgetsOf(namespace: string | undefined, labels: Record<string, string> | undefined): Iterable<string> {
    for (const budget of budgets.byIndex(BY_NAMESPACE, namespace ?? ''))
      if (matchesLabels(selectorOf(budget), labels)) yield* ownKey(undefined, budget)
  }

  function* keysOfPod(old: Pod | undefined, current: Pod | undefined): Iterable<string> {
    if (current && staleAfter(current) !== undefined) yield POD + ownKey(undefined, current)[0]
    if (old && current && countsAlike(old, current)) return
    const { namespace } = (current ?? old)!.metadata
    for (const key of new Set([old, current].flatMap((pod) => [...budgetsOf(namespace, pod?.metadata.labels)]))) {
      tallies.get(key)?.change(old, current)
      yield key
    }
  }

  /** Counted anew only when the budget selects otherwise. */
  function tallyOf(key: string, budget: PodDisruptionBudget): Tally {
    const known = tallies.get(key)
    if (known && deepEqual(known.budget.spec?.selector, budget.spec?.selector)) return known
    const tally = new Tally(budget, pods.byIndex(BY_NAMESPACE, budget.metadata.namespace ?? ''))
    tallies.set(key, tally)
    return tally
  }

  /** A budget of the same name that comes later counts anew: nobody told this tally what happened in between. */
  function forgetDeleted(old: PodDisruptionBudget | undefined, current: PodDisruptionBudget | undefined): string[] {
    const keys = ownKey(old, current)
    if (!current) for (const key of keys) tallies.delete(key)
    return current ? keys : []
  }

  const scales = expectedScales(context, budgetsOf)
  const findPod = (namespace: string, name: string) => pods.get(`${namespace}/${name}`)
  const inner = { client, clock, events: context.events, scales, findPod }

  return {
    name: 'disruption-controller',
    workers: 5,
    watches: [watch(budgets, forgetDeleted), watch(pods, keysOfPod), ...scales.watches],
    async reconcile(key) {
      if (key.startsWith(POD)) return clearStaleDisruption(client, clock, pods.get(key.slice(POD.length)))
      const budget = budgets.get(key)
      if (budget) return reconcileBudget(inner, budget, tallyOf(key, budget))
    },
  }
}
