import type { Pod } from '../../api/generated/core-v1.ts'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import { ApiError } from '../../api/meta/api-error.ts'
import { findCondition } from '../../api/meta/conditions.ts'
import { formatTime, parseTime } from '../../api/meta/time.ts'
import type { Clock } from '../../base/clock.ts'
import type { Client } from '../../client/client.ts'
import type { ReconcileResult } from '../controller.ts'

/** Milliseconds a pod may be marked as about to be disrupted without being deleted. */
const TIMEOUT = 2 * 60 * 1000
const TYPE = 'DisruptionTarget'

/** When the mark of this pod is stale, in milliseconds; undefined if it has none that could become so. */
export function staleAfter({ metadata, status }: Pod): number | undefined {
  const condition = findCondition(status?.conditions, TYPE)
  if (condition?.status !== 'True' || metadata.deletionTimestamp !== undefined) return undefined
  // A kubelet may take long to end a pod that it decided to end.
  if (condition.reason === 'TerminationByKubelet' || status?.phase === 'Succeeded' || status?.phase === 'Failed')
    return undefined
  return (parseTime(condition.lastTransitionTime ?? '') ?? 0) + TIMEOUT
}

export async function clearStaleDisruption(
  client: Client,
  clock: Clock,
  pod: Pod | undefined,
): Promise<ReconcileResult | void> {
  const stale = pod && staleAfter(pod)
  if (!pod || stale === undefined) return
  if (stale > clock.now()) return { retryAfter: stale - clock.now() }
  const { namespace = '', name = '', uid, resourceVersion } = pod.metadata
  const time = formatTime(clock.now())
  const condition = { type: TYPE, status: 'False', reason: null, message: null, lastTransitionTime: time }
  const patch = { metadata: { uid, resourceVersion }, status: { conditions: [condition] } }
  try {
    const options = { subresource: 'status', type: 'application/strategic-merge-patch+json' } as const
    await client.resource(podKind).namespace(namespace).patch(name, patch, options)
  } catch (error) {
    if (!(error instanceof ApiError && error.code === 404)) throw error
  }
}
