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
import { isReady, selectorOf } from './pods.ts'
import type { ExpectedScales } from './scales.ts'

/** Milliseconds an eviction may take to become a deletion; after that it did not happen. */
const DELETION_TIMEOUT = 2 * 60 * 1000

type Context = Pick<ControllerContext, 'client' | 'clock' | 'events'>

export async function reconcileBudget(
  context: Context,
  budget: PodDisruptionBudget,
  pods: readonly Pod[],
  scales: ExpectedScales,
): Promise<ReconcileResult | void> {
  if (pods.length === 0) context.events.event(budget, 'Normal', 'NoPods', 'No matching pods found')
  try {
    const expected = await expectedPods(context, budget, pods, scales)
    const { disruptedPods, recheckAt } = stillExpected(context, budget, pods)
    await write(context, budget, statusOf(context, budget, pods, expected, disruptedPods))
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

async function expectedPods(
  { events }: Context,
  budget: PodDisruptionBudget,
  pods: readonly Pod[],
  scales: ExpectedScales,
): Promise<Expected> {
  const { minAvailable, maxUnavailable } = budget.spec ?? {}
  if (maxUnavailable === undefined && typeof minAvailable !== 'string')
    return { count: minAvailable === undefined ? 0 : pods.length, desiredHealthy: minAvailable ?? 0 }
  const { count, unmanaged } = await scales.of(pods).catch((error: Error) => {
    const message = `Failed to calculate the number of expected pods: ${error.message}`
    events.event(budget, 'Warning', 'CalculateExpectedPodCountFailed', message)
    throw error
  })
  if (unmanaged.length > 0) reportUnmanaged(events, budget)
  if (maxUnavailable === undefined) return { count, desiredHealthy: scaledValue(minAvailable!, count, 'up') ?? 0 }
  return { count, desiredHealthy: Math.max(0, count - (scaledValue(maxUnavailable, count, 'up') ?? 0)) }
}

function reportUnmanaged(events: Context['events'], budget: PodDisruptionBudget): void {
  const selector = formatSelector(selectorOf(budget))
  const message = `Pods selected by this PodDisruptionBudget (selector: ${selector}) were found to be unmanaged. As a result, the status of the PDB cannot be calculated correctly, which may result in undefined behavior. To account for these pods please set ".spec.minAvailable" field of the PDB to an integer value.`
  events.event(budget, 'Warning', 'UnmanagedPods', message)
}

/** Of the pods that were allowed to be evicted, those that still may be on their way out. */
function stillExpected({ clock, events }: Context, budget: PodDisruptionBudget, pods: readonly Pod[]) {
  const disruptedPods: Record<string, string> = {}
  let recheckAt: number | undefined
  for (const pod of pods) {
    const name = pod.metadata.name ?? ''
    const allowedAt = budget.status?.disruptedPods?.[name]
    if (allowedAt === undefined || pod.metadata.deletionTimestamp !== undefined) continue
    const until = (parseTime(allowedAt) ?? 0) + DELETION_TIMEOUT
    if (until <= clock.now()) {
      const { namespace } = budget.metadata
      const message = `Pod was expected by PDB ${namespace}/${budget.metadata.name} to be deleted but it wasn't`
      events.event(pod, 'Warning', 'NotDeleted', message)
      continue
    }
    disruptedPods[name] = allowedAt
    recheckAt = Math.min(recheckAt ?? until, until)
  }
  return { disruptedPods, recheckAt }
}

function statusOf(
  { clock }: Context,
  budget: PodDisruptionBudget,
  pods: readonly Pod[],
  { count, desiredHealthy }: Expected,
  disruptedPods: Record<string, string>,
): PodDisruptionBudgetStatus {
  const isHealthy = (pod: Pod) =>
    pod.metadata.deletionTimestamp === undefined && !Object.hasOwn(disruptedPods, pod.metadata.name!) && isReady(pod)
  const currentHealthy = pods.filter(isHealthy).length
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
  return {
    observedGeneration,
    disruptionsAllowed,
    currentHealthy,
    desiredHealthy,
    expectedPods: count,
    ...(Object.keys(disruptedPods).length > 0 && { disruptedPods }),
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
