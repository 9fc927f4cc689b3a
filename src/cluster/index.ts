/** The package's public entry: a Kubernetes control plane in your own process. */
// Parts load these when they start; loaded with the package, they do not delay a start.
import './control-plane/certificate-signer.ts'
import './control-plane/start-controllers.ts'
import './control-plane/start-scheduler.ts'
import './control-plane/start-simulated-nodes.ts'
import type { Cluster, ClusterOptions } from './cluster.ts'
import { startCluster as start } from './start-cluster.ts'

export type { Client, ResourceClient } from '../client/client.ts'
export { createClient } from '../client/client.ts'
export { createHttpTransport, type HttpTransportOptions } from '../client/http-transport.ts'
export type { ResourceType, Transport } from '../client/transport.ts'
export type { Cluster, ClusterOptions } from './cluster.ts'
export { parseStoreChoice, type StoreChoice } from './store-choice.ts'

/** Starts a Kubernetes control plane in this process. */
export const startCluster = (options: ClusterOptions = {}): Promise<Cluster> => start(options)
