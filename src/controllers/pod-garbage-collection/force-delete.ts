import type { Pod } from '../../api/generated/core-v1.ts'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import { ApiError } from '../../api/meta/api-error.ts'
import { formatTime } from '../../api/meta/time.ts'
import type { Clock } from '../../base/clock.ts'
import type { Client } from '../../client/client.ts'

/** Deletes a pod at once. It is marked failed before: no kubelet is left to say how it ended. */
export async function forceDelete(client: Client, clock: Clock, pod: Pod, disruption?: string): Promise<void> {
  const { namespace = '', name = '', uid, generation } = pod.metadata
  const pods = client.resource(podKind).namespace(namespace)
  const condition = disruption !== undefined && {
    type: 'DisruptionTarget',
    status: 'True',
    reason: 'DeletionByPodGC',
    message: disruption,
    lastTransitionTime: formatTime(clock.now()),
    ...(generation !== undefined && { observedGeneration: generation }),
  }
  const status = { phase: 'Failed', ...(condition && { conditions: [condition] }) }
  try {
    if (pod.status?.phase !== 'Succeeded' && pod.status?.phase !== 'Failed')
      await pods.patch(name, { metadata: { uid }, status }, { subresource: 'status', type: STRATEGIC })
    await pods.delete(name, { gracePeriodSeconds: 0, ...(uid !== undefined && { preconditions: { uid } }) })
  } catch (error) {
    if (!(error instanceof ApiError && error.code === 404)) throw error
  }
}

const STRATEGIC = 'application/strategic-merge-patch+json'
