import type { PodDisruptionBudget } from '../../api/generated/policy-v1.ts'
import { compileLabelSelector, matchesLabels, type Selector, selectsNothing } from '../../api/meta/label-selector.ts'
import type { PlacedPod } from '../cache/cluster-state.ts'

interface Budget {
  readonly selector: Selector
  readonly allowed: number
  readonly disrupted: ReadonlySet<string>
}

/** What PodDisruptionBudgets still allow. */
export class DisruptionBudgets {
  readonly #byNamespace = new Map<string, Map<string, Budget>>()
  /** Changes when any answer may have. */
  version = 0

  changed(old: PodDisruptionBudget | undefined, current: PodDisruptionBudget | undefined): void {
    this.version++
    const { namespace = '', name = '' } = (current ?? old)!.metadata
    const budgets = this.#byNamespace.get(namespace) ?? new Map<string, Budget>()
    this.#byNamespace.set(namespace, budgets)
    if (!current) budgets.delete(name)
    else budgets.set(name, budgetOf(current))
  }

  /** The pods whose end would break a budget, if all of these ended in this order. */
  violating(pods: readonly PlacedPod[]): Set<PlacedPod> {
    const violating = new Set<PlacedPod>()
    if (this.#byNamespace.size === 0) return violating
    const left = new Map<Budget, number>()
    for (const placed of pods) {
      const { namespace, pod } = placed.facts
      for (const budget of this.#byNamespace.get(namespace)?.values() ?? []) {
        if (!matchesLabels(budget.selector, pod.metadata.labels)) continue
        // Its end is on the way and already paid for.
        if (budget.disrupted.has(pod.metadata.name!)) continue
        const allowed = (left.get(budget) ?? budget.allowed) - 1
        left.set(budget, allowed)
        if (allowed < 0) violating.add(placed)
      }
    }
    return violating
  }
}

function budgetOf({ spec, status }: PodDisruptionBudget): Budget {
  const selector = compileLabelSelector(spec?.selector)
  return {
    selector: selectsNothing(selector) ? { requirements: 'nothing' } : selector,
    allowed: status?.disruptionsAllowed ?? 0,
    disrupted: new Set(Object.keys(status?.disruptedPods ?? {})),
  }
}
