import type { Pod } from '../../api/generated/core-v1.ts'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import { ApiError } from '../../api/meta/api-error.ts'
import { formatTime } from '../../api/meta/time.ts'
import type { Clock } from '../../base/clock.ts'
import type { Client } from '../../client/client.ts'

/** Ends a pod gracefully to make room for another; its conditions tell why. */
export async function evict(client: Client, clock: Clock, victim: Pod, schedulerName: string): Promise<void> {
  const { name = '', namespace = '', uid = '' } = victim.metadata
  const pods = client.resource(podKind).namespace(namespace)
  const condition = {
    type: 'DisruptionTarget',
    status: 'True',
    reason: 'PreemptionByScheduler',
    message: `${schedulerName}: preempting to accommodate a higher priority pod`,
    lastProbeTime: null,
    lastTransitionTime: formatTime(clock.now()),
  }
  try {
    await pods.patch(
      name,
      { metadata: { uid }, status: { conditions: [condition] } },
      { subresource: 'status', type: 'application/strategic-merge-patch+json' },
    )
    await pods.delete(name, { preconditions: { uid } })
  } catch (error) {
    // Gone already, or another of the same name: there is no victim any more.
    if (!(error instanceof ApiError) || (error.code !== 404 && error.code !== 409)) throw error
  }
}
