import type { KubernetesObject, ObjectMeta } from '../../api/meta/object.ts'
import { parseTime } from '../../api/meta/time.ts'

/** Milliseconds. */
const LIFETIME = 60 * 60 * 1000

/** The little of an Event that says when it goes. */
export interface ExpiringEvent extends KubernetesObject {
  readonly expires: number
}

interface TimedEvent extends KubernetesObject {
  readonly lastTimestamp?: string
  readonly firstTimestamp?: string
  readonly eventTime?: string
  readonly series?: { readonly lastObservedTime?: string }
}

export function expiringOnly(event: KubernetesObject): ExpiringEvent {
  const { name, namespace, uid, resourceVersion } = event.metadata
  return { metadata: { name, namespace, uid, resourceVersion } as ObjectMeta, expires: lastSeen(event) + LIFETIME }
}

function lastSeen(event: TimedEvent): number {
  const { metadata, lastTimestamp, firstTimestamp, eventTime, series } = event
  const times = [metadata.creationTimestamp, lastTimestamp, firstTimestamp, eventTime, series?.lastObservedTime]
  return Math.max(0, ...times.map((time) => parseTime(time ?? '') ?? 0))
}
