import type { ObjectMeta } from '../api/meta/object.ts'

/** Quantities by the name of the resource: `{ cpu: '250m', memory: '64Mi' }`. */
export type ResourceUsage = Readonly<Record<string, string>>

/** metrics.k8s.io/v1beta1 NodeMetrics: what a node used in the window that ended at the timestamp. */
export interface NodeMetrics {
  readonly metadata: ObjectMeta
  readonly timestamp: string
  /** A duration as Go writes it: `15s`. */
  readonly window: string
  readonly usage: ResourceUsage
}

/** metrics.k8s.io/v1beta1 PodMetrics: the same of each running container. */
export interface PodMetrics {
  readonly metadata: ObjectMeta
  readonly timestamp: string
  readonly window: string
  readonly containers: readonly { readonly name: string; readonly usage: ResourceUsage }[]
}

type Eventually<T> = T | Promise<T>

/**
 * Who knows what nodes and pods use. The nodes of a cluster tell, the API server serves it as metrics.k8s.io; neither
 * knows the other. What has not been measured yet is left out.
 */
export interface MetricsSource {
  node(name: string): Eventually<NodeMetrics | undefined>
  nodes(): Eventually<readonly NodeMetrics[]>
  pod(namespace: string, name: string): Eventually<PodMetrics | undefined>
  /** Of one namespace, or of all. */
  pods(namespace?: string): Eventually<readonly PodMetrics[]>
}
