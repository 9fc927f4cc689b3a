import type { Pod } from '../../api/generated/core-v1.ts'
import type { PodDisruptionBudget } from '../../api/generated/policy-v1.ts'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import { podDisruptionBudgetKind } from '../../api/kinds/policy/pod-disruption-budget.ts'
import { matchesLabels } from '../../api/meta/label-selector.ts'
import { byNamespace } from '../../client/informer.ts'
import { type Controller, type ControllerContext, ownKey, watch } from '../controller.ts'
import { countsAlike, selectorOf } from './pods.ts'
import { reconcileBudget } from './reconcile.ts'
import { expectedScales } from './scales.ts'
import { clearStaleDisruption, staleAfter } from './stale-disruption.ts'

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

  function* budgetsOf(namespace: string | undefined, labels: Record<string, string> | undefined): Iterable<string> {
    for (const budget of budgets.byIndex(BY_NAMESPACE, namespace ?? ''))
      if (matchesLabels(selectorOf(budget), labels)) yield* ownKey(undefined, budget)
  }

  function* keysOfPod(old: Pod | undefined, current: Pod | undefined): Iterable<string> {
    if (current && staleAfter(current) !== undefined) yield POD + ownKey(undefined, current)[0]
    if (old && current && countsAlike(old, current)) return
    for (const pod of [old, current]) if (pod) yield* budgetsOf(pod.metadata.namespace, pod.metadata.labels)
  }

  const scales = expectedScales(context, budgetsOf)
  const podsOf = (budget: PodDisruptionBudget): Pod[] => {
    const selector = selectorOf(budget)
    return pods
      .byIndex(BY_NAMESPACE, budget.metadata.namespace ?? '')
      .filter((pod) => matchesLabels(selector, pod.metadata.labels))
  }

  return {
    name: 'disruption-controller',
    workers: 5,
    watches: [
      watch(budgets, (old, current) => (current ? ownKey(old, current) : [])),
      watch(pods, keysOfPod),
      ...scales.watches,
    ],
    async reconcile(key) {
      if (key.startsWith(POD)) return clearStaleDisruption(client, clock, pods.get(key.slice(POD.length)))
      const budget = budgets.get(key)
      if (budget) return reconcileBudget(context, budget, podsOf(budget), scales)
    },
  }
}
