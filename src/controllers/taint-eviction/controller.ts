import type { Node, Pod, Taint } from '../../api/generated/core-v1.ts'
import { nodeKind } from '../../api/kinds/core/node/kind.ts'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import { ApiError } from '../../api/meta/api-error.ts'
import { withCondition } from '../../api/meta/conditions.ts'
import { formatTime } from '../../api/meta/time.ts'
import { deepEqual } from '../../base/deep-equal.ts'
import { objectKey } from '../../client/informer.ts'
import { type Controller, type ControllerContext, watch } from '../controller.ts'
import { podsByNode } from '../pods-by-node.ts'
import { toleratedTime } from './tolerations.ts'

const WORKERS = 8
const NO_TAINTS: readonly Taint[] = []

/** Deletes pods from nodes whose NoExecute taints they do not tolerate, or tolerate no longer. */
export function taintEvictionController({ client, informers, clock, events }: ControllerContext): Controller {
  const nodes = informers.informer(nodeKind)
  const pods = informers.informer(podKind, { indexes: podsByNode })
  /** Since when a pod has been living with its node's taints, by uid. */
  const since = new Map<string, number>()

  async function reconcile(key: string) {
    const pod = pods.get(key)
    if (!pod || pod.metadata.deletionTimestamp !== undefined) return
    const { uid = '' } = pod.metadata
    const taints = noExecuteTaints(nodes.get(pod.spec?.nodeName ?? ''))
    const time = taints.length === 0 ? Number.POSITIVE_INFINITY : toleratedTime(taints, pod.spec?.tolerations ?? [])
    if (time === Number.POSITIVE_INFINITY) {
      if (since.delete(uid))
        events.event(pod, 'Normal', 'TaintManagerEviction', `Cancelling deletion of Pod ${objectKey(pod)}`)
      return
    }
    const start = since.get(uid) ?? clock.now()
    const rest = start + time - clock.now()
    if (rest > 0) {
      since.set(uid, start)
      return { retryAfter: rest }
    }
    await evict(pod).catch(ignoreGone)
    since.delete(uid)
  }

  async function evict(pod: Pod): Promise<void> {
    events.event(pod, 'Normal', 'TaintManagerEviction', `Marking for deletion Pod ${objectKey(pod)}`)
    const resource = client.resource(podKind).namespace(pod.metadata.namespace ?? '')
    const condition = {
      type: 'DisruptionTarget',
      status: 'True',
      reason: 'DeletionByTaintManager',
      message: 'Taint manager: deleting due to NoExecute taint',
      ...(pod.metadata.generation !== undefined && { observedGeneration: pod.metadata.generation }),
    }
    const conditions = withCondition(pod.status?.conditions, condition, formatTime(clock.now()))
    if (conditions !== pod.status?.conditions)
      await resource.updateStatus({ ...pod, status: { ...pod.status, conditions: [...conditions] } })
    await resource.delete(pod.metadata.name ?? '', { preconditions: { uid: pod.metadata.uid ?? '' } })
  }

  return {
    name: 'taint-eviction-controller',
    workers: WORKERS,
    watches: [
      watch(nodes, (old, current) => {
        if (!current || deepEqual(noExecuteTaints(old), noExecuteTaints(current))) return []
        return pods.byIndex('node', current.metadata.name ?? '').map(objectKey)
      }),
      watch(pods, (old, current) => {
        if (!current) {
          since.delete(old?.metadata.uid ?? '')
          return []
        }
        const isNew = old?.spec?.nodeName !== current.spec?.nodeName
        const isChanged = isNew || old?.spec?.tolerations !== current.spec?.tolerations
        return isChanged && noExecuteTaints(nodes.get(current.spec?.nodeName ?? '')).length > 0
          ? [objectKey(current)]
          : []
      }),
    ],
    reconcile,
  }
}

function noExecuteTaints(node: Node | undefined): readonly Taint[] {
  const taints = node?.spec?.taints
  if (!taints?.length) return NO_TAINTS
  return taints.filter(({ effect }) => effect === 'NoExecute')
}

/** Somebody else was faster. */
function ignoreGone(error: unknown): undefined {
  if (error instanceof ApiError && error.code === 404) return
  throw error
}
