import type { Pod } from '../../api/generated/core-v1.ts'
import type { PodDisruptionBudget, PodDisruptionBudgetStatus } from '../../api/generated/policy-v1.ts'
import { podDisruptionBudgetKind } from '../../api/kinds/policy/pod-disruption-budget.ts'
import { ApiError } from '../../api/meta/api-error.ts'
import { type Condition, withCondition } from '../../api/meta/conditions.ts'
import { scaledValue } from '../../api/meta/int-or-string.ts'
import { formatSelector } from '../../api/meta/label-selector.ts'
import { formatTime, parseTime } from '../../api/meta/time.ts'
import { deepEqual } from '../../base/deep-equal.ts'
import type { ControllerContext, ReconcileResult } from '../controller.ts'
import { isHealthy, selectorOf } from './pods.ts'
import type { ExpectedScales } from './scales.ts'
import type { Tally } from './tally.ts'

/** Milliseconds an eviction may take to become a deletion; after that it did not happen. */
const DELETION_TIMEOUT = 2 * 60 * 1000

interface Context extends Pick<ControllerContext, 'client' | 'clock' | 'events'> {
  readonly scales: ExpectedScales
  findPod(namespace: string, name: string): Pod | undefined
}

export async function reconcileBudget(
  context: Context,
  budget: PodDisruptionBudget,
  tally: Tally,
): Promise<ReconcileResult | void> {
  if (tally.total === 0) context.events.event(budget, 'Normal', 'NoPods', 'No matching pods found')
  try {
    const expected = await expectedPods(context, budget, tally)
    const { disruptedPods, recheckAt } = stillExpected(context, budget, tally)
    const healthy = tally.healthy - disruptedPods.filter(isHealthy).length
    await write(context, budget, statusOf(context, budget, expected, healthy, disruptedPods))
    if (recheckAt !== undefined) return { retryAfter: recheckAt - context.clock.now() }
  } catch (error) {
    if (error instanceof ApiError && error.code === 409) throw error
    await refuseAll(context, budget, error as Error)
  }
}

interface Expected {
  readonly count: number
  readonly desiredHealthy: number
}

async function expectedPods({ events, scales }: Context, budget: PodDisruptionBudget, tally: Tally): Promise<Expected> {
  const { minAvailable, maxUnavailable } = budget.spec ?? {}
  if (maxUnavailable === undefined && typeof minAvailable !== 'string')
    return { count: minAvailable === undefined ? 0 : tally.total, desiredHealthy: minAvailable ?? 0 }
  const count = await scales.of(tally.controllers).catch((error: Error) => {
    const message = `Failed to calculate the number of expected pods: ${error.message}`
    events.event(budget, 'Warning', 'CalculateExpectedPodCountFailed', message)
    throw error
  })
  if (tally.unmanaged > 0) reportUnmanaged(events, budget)
  if (maxUnavailable === undefined) return { count, desiredHealthy: scaledValue(minAvailable!, count, 'up') ?? 0 }
  return { count, desiredHealthy: Math.max(0, count - (scaledValue(maxUnavailable, count, 'up') ?? 0)) }
}

function reportUnmanaged(events: Context['events'], budget: PodDisruptionBudget): void {
  const selector = formatSelector(selectorOf(budget))
  const message = `Pods selected by this PodDisruptionBudget (selector: ${selector}) were found to be unmanaged. As a result, the status of the PDB cannot be calculated correctly, which may result in undefined behavior. To account for these pods please set ".spec.minAvailable" field of the PDB to an integer value.`
  events.event(budget, 'Warning', 'UnmanagedPods', message)
}

/** Of the pods that were allowed to be evicted, those that still may be on their way out. */
function stillExpected({ clock, events, findPod }: Context, budget: PodDisruptionBudget, tally: Tally) {
  const disruptedPods: Pod[] = []
  let recheckAt: number | undefined
  const { namespace = '', name: budgetName } = budget.metadata
  for (const [name, allowedAt] of Object.entries(budget.status?.disruptedPods ?? {})) {
    const pod = findPod(namespace, name)
    if (!pod || !tally.covers(pod) || pod.metadata.deletionTimestamp !== undefined) continue
    const until = (parseTime(allowedAt) ?? 0) + DELETION_TIMEOUT
    if (until <= clock.now()) {
      const message = `Pod was expected by PDB ${namespace}/${budgetName} to be deleted but it wasn't`
      events.event(pod, 'Warning', 'NotDeleted', message)
      continue
    }
    disruptedPods.push(pod)
    recheckAt = Math.min(recheckAt ?? until, until)
  }
  return { disruptedPods, recheckAt }
}

function statusOf(
  { clock }: Context,
  budget: PodDisruptionBudget,
  { count, desiredHealthy }: Expected,
  currentHealthy: number,
  disruptedPods: readonly Pod[],
): PodDisruptionBudgetStatus {
  // A budget without pods allows nothing, so that its first ones are safe until they have been counted.
  const disruptionsAllowed = count > 0 ? Math.max(0, currentHealthy - desiredHealthy) : 0
  const observedGeneration = budget.metadata.generation ?? 0
  const condition: Condition = {
    type: 'DisruptionAllowed',
    status: disruptionsAllowed > 0 ? 'True' : 'False',
    reason: disruptionsAllowed > 0 ? 'SufficientPods' : 'InsufficientPods',
    message: '',
    observedGeneration,
  }
  const kept = disruptedPods.map(({ metadata }) => [metadata.name!, budget.status!.disruptedPods![metadata.name!]])
  return {
    observedGeneration,
    disruptionsAllowed,
    currentHealthy,
    desiredHealthy,
    expectedPods: count,
    ...(kept.length > 0 && { disruptedPods: Object.fromEntries(kept) }),
    conditions: conditionsWith(budget, condition, clock.now()),
  }
}

/** When nothing can be computed, nothing may be disrupted. */
async function refuseAll(context: Context, budget: PodDisruptionBudget, error: Error): Promise<void> {
  const condition: Condition = {
    type: 'DisruptionAllowed',
    status: 'False',
    reason: 'SyncFailed',
    message: error.message,
    observedGeneration: budget.status?.observedGeneration ?? 0,
  }
  const known = { currentHealthy: 0, desiredHealthy: 0, expectedPods: 0, ...budget.status }
  const conditions = conditionsWith(budget, condition, context.clock.now())
  await write(context, budget, { ...known, disruptionsAllowed: 0, conditions })
}

type Conditions = NonNullable<PodDisruptionBudgetStatus['conditions']>

const conditionsWith = ({ status }: PodDisruptionBudget, condition: Condition, now: number): Conditions =>
  [...withCondition<Condition>(status?.conditions, condition, formatTime(now))] as Conditions

async function write(
  { client }: Context,
  budget: PodDisruptionBudget,
  status: PodDisruptionBudgetStatus,
): Promise<void> {
  if (deepEqual(budget.status, status)) return
  await client.resource(podDisruptionBudgetKind).updateStatus({ ...budget, status })
}
