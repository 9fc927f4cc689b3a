/** The package's public entry: a Kubernetes control plane in your own process. */
import type { Cluster, ClusterOptions } from './cluster.ts'
// Loaded with the package, so that a start does not wait for it.
import * as controlLoopPrograms from './control-plane/start-control-loops.ts'
import { startCluster as start } from './start-cluster.ts'

export type { Client, ResourceClient } from '../client/client.ts'
export { createClient } from '../client/client.ts'
export { createHttpTransport, type HttpTransportOptions } from '../client/http-transport.ts'
export type { ResourceType, Transport } from '../client/transport.ts'
export type { Cluster, ClusterOptions } from './cluster.ts'
export { parseStoreChoice, type StoreChoice } from './store-choice.ts'

/** Starts a Kubernetes control plane in this process. */
export const startCluster = (options: ClusterOptions = {}): Promise<Cluster> =>
  start({ ...options, controlLoopPrograms })
