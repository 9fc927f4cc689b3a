import type { Pod } from '../../api/generated/core-v1.ts'
import { nodeKind } from '../../api/kinds/core/node/kind.ts'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import { ApiError } from '../../api/meta/api-error.ts'
import { type Controller, type ControllerContext, watch } from '../controller.ts'
import { forceDelete } from './force-delete.ts'
import { isOutOfService, isTerminated, isUnscheduledTerminating, oldestFirst } from './pods.ts'

/** So many finished pods are kept; the oldest go first. */
const TERMINATED_THRESHOLD = 12_500
/** Milliseconds a node may be missing before its pods are given up: it may only be on its way here. */
const QUARANTINE = 40_000
const BY_NODE = 'pod-garbage-collection/node'
const TERMINATED = 'terminated'

/**
 * Deletes pods that nobody else will: those on nodes that are gone or out of service, those that end without ever
 * having been on a node, and finished ones beyond a number. Keys: `node:NAME`, `pod:NAMESPACE/NAME`, `terminated`.
 */
export function podGarbageCollectionController(
  context: ControllerContext & { readonly terminatedPodThreshold?: number },
): Controller {
  const { client, clock, informers, terminatedPodThreshold = TERMINATED_THRESHOLD } = context
  const nodes = informers.informer(nodeKind)
  const pods = informers.informer(podKind, { indexes: { [BY_NODE]: nodeOf } })
  const terminated = new Set<string>()
  const missingSince = new Map<string, number>()

  function* keysOfPod(old: Pod | undefined, current: Pod | undefined): Iterable<string> {
    const pod = (current ?? old)!
    const key = `${pod.metadata.namespace}/${pod.metadata.name}`
    if (current && isTerminated(current)) terminated.add(key)
    else terminated.delete(key)
    if (terminated.size > terminatedPodThreshold) yield TERMINATED
    if (!current) return
    if (isUnscheduledTerminating(current)) yield `pod:${key}`
    const node = current.spec?.nodeName
    if (!node) return
    if (!nodes.get(node) || (current.metadata.deletionTimestamp !== undefined && isOutOfService(nodes.get(node))))
      yield `node:${node}`
  }

  async function collectNode(name: string) {
    const node = nodes.get(name)
    const held = pods.byIndex(BY_NODE, name)
    if (node || held.length === 0) missingSince.delete(name)
    if (node && isOutOfService(node)) await forceAll(held.filter((pod) => pod.metadata.deletionTimestamp !== undefined))
    if (node || held.length === 0) return
    const since = missingSince.get(name) ?? clock.now()
    missingSince.set(name, since)
    const wait = since + QUARANTINE - clock.now()
    if (wait > 0) return { retryAfter: wait }
    if (await nodeExists(name)) return
    await forceAll(held, 'PodGC: node no longer exists')
  }

  async function nodeExists(name: string): Promise<boolean> {
    try {
      await client.resource(nodeKind).get(name)
      return true
    } catch (error) {
      if (error instanceof ApiError && error.code === 404) return false
      throw error
    }
  }

  async function forceAll(which: readonly Pod[], disruption?: string): Promise<void> {
    await Promise.all(which.map((pod) => forceDelete(client, clock, pod, disruption)))
  }

  async function collectTerminated(): Promise<void> {
    const excess = terminated.size - terminatedPodThreshold
    if (excess <= 0) return
    const finished = [...terminated].flatMap((key) => pods.get(key) ?? []).sort(oldestFirst)
    await forceAll(finished.slice(0, excess))
  }

  return {
    name: 'pod-garbage-collector-controller',
    watches: [
      watch(nodes, (old, current) =>
        !current || isOutOfService(current) ? [`node:${(current ?? old)!.metadata.name}`] : [],
      ),
      watch(pods, keysOfPod),
    ],
    async reconcile(key) {
      if (key === TERMINATED) return collectTerminated()
      if (key.startsWith('node:')) return collectNode(key.slice('node:'.length))
      const pod = pods.get(key.slice('pod:'.length))
      if (pod && isUnscheduledTerminating(pod)) await forceAll([pod])
    },
  }
}

const nodeOf = (pod: Pod): string[] => (pod.spec?.nodeName ? [pod.spec.nodeName] : [])
