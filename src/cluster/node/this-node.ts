/** What the parts of a node share. */
import { type Clock, systemClock } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import { type Random, systemRandom } from '../../base/random.ts'
import type { HttpTransport } from '../../client/http-transport.ts'
import type { ContainerRuntime } from '../../container-runtime/runtime.ts'
import type { Kubelet } from '../../kubelet/kubelet.ts'
import { kernelLinux } from '../../linux/kernel-linux.ts'
import type { Linux } from '../../linux/linux.ts'
import type { SyscallAgents } from '../../linux/syscall-agent.ts'
import type { NodeNetwork } from '../../pod-network/node-network.ts'
import type { ServiceProxy } from '../../service-proxy/service-proxy.ts'
import type { NodeSettings, NodeUser } from './node-settings.ts'

export class ThisNode {
  readonly settings: NodeSettings
  readonly clock: Clock = systemClock
  readonly random: Random = systemRandom
  readonly log: Logger
  readonly linux: Linux = kernelLinux()

  // Each is set by the part of that name.
  apiClients!: Readonly<Record<NodeUser, HttpTransport>>
  podNetwork!: NodeNetwork
  systemCallAgents!: SyscallAgents
  containerRuntime!: ContainerRuntime
  /** The node's own containerd, where it has one. */
  containerd: (AsyncDisposable & { remove(): Promise<void> }) | undefined
  kubelet!: Kubelet
  serviceProxy!: ServiceProxy
  clusterDns!: AsyncDisposable

  constructor(settings: NodeSettings, log: Logger) {
    this.settings = settings
    this.log = log
  }
}
