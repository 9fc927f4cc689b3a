import type { ClusterConfiguration } from '../configuration.ts'
import type { Instance, RunningServer } from '../instance.ts'
import type { Membership } from '../join/membership.ts'

/** What a server process needs to know; passes as JSON from `sampan up` or `sampan join` to a detached process. */
export interface ServerSettings {
  readonly instance: Instance
  readonly configuration: ClusterConfiguration
  /** The kubeconfig file that gets the cluster's context. */
  readonly kubeconfig?: string
  /** A node of a cluster on another machine, in place of a cluster. */
  readonly membership?: Membership
  /** No number of nodes was asked for: where none can run, the cluster has none. */
  readonly nodesOptional?: boolean
  /** This process is in a user namespace that was made for it: see serve-rootless.ts. */
  readonly isInside?: boolean
  /** Upstream resolvers of the nodes; those of this machine by default. */
  readonly upstreamDns?: readonly string[]
}

/** What a process serves. Dispose it to stop. */
export interface Serving extends AsyncDisposable {
  readonly server: RunningServer
  /** Resolves if it ends without being disposed. */
  readonly ended?: Promise<void>
}
