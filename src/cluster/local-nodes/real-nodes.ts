import type { Transport } from '../../client/transport.ts'
import type { ClusterCertificates } from '../certificates.ts'
import type { NodeSettings } from '../node/node-settings.ts'

/** What all nodes of a cluster have in common. */
export type SharedNodeSettings = Omit<NodeSettings, 'name' | 'dataDir' | 'address'>

export interface NodesStart {
  readonly count: number
  /** Where nodes find the API server. */
  readonly server: string
  readonly certificates: ClusterCertificates
  /** By which this process follows the nodes. */
  readonly transport: Transport
  readonly settings: SharedNodeSettings
}

/** The nodes on the machine of the control plane: namespaces on a bridge, or the machine itself. */
export interface RealNodes {
  /** The address of this machine as the nodes see it: there they find the API server. */
  readonly gateway: string
  /** The resolvers that nodes are to ask in place of these. */
  reachableDns(servers: readonly string[]): Promise<readonly string[]>
  /** Starts the nodes; those that run already are kept. */
  start(start: NodesStart): Promise<void>
  /** Gives the nodes new certificates while their pods go on. */
  renewCredentials(): Promise<void>
  /** Stops the nodes with all their pods. */
  stop(): Promise<void>
  /** Takes away the network between them. */
  removeNetwork(): Promise<void>
}
