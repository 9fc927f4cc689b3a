import type { ApiServer } from '../apiserver/server.ts'
import type { AsyncDisposables } from '../base/async-disposables.ts'
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import type { Random } from '../base/random.ts'
import { certificateSigner } from './certificate-signer.ts'
import type { ClusterCertificates } from './certificates.ts'
import { CONTROLLER_MANAGER, controllerIdentity, SCHEDULER, SIMULATED_NODES } from './identities.ts'
import type { ClusterOptions } from './start-cluster.ts'
import { type RunningControllers, startControllers } from './start-controllers.ts'
import { clusterCidrsFor, type RunningNodes, startNodes } from './start-nodes.ts'
import { type RunningScheduler, startClusterScheduler } from './start-scheduler.ts'

/** What runs of a cluster beside its API; filled in as it starts. */
export interface ControlLoops {
  controllers?: RunningControllers
  scheduler?: RunningScheduler
  nodes?: RunningNodes
}

export interface ControlLoopContext {
  readonly apiServer: ApiServer
  readonly certificates: Promise<ClusterCertificates>
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
}

/** Starts controllers, scheduler and simulated nodes, in this order: each needs what the former make. */
export async function startControlLoops(
  options: ClusterOptions,
  { apiServer, certificates, clock, random, log }: ControlLoopContext,
  loops: ControlLoops,
  stack: AsyncDisposables,
): Promise<void> {
  const { controllers = true, scheduler = true, nodes = 0 } = options
  const isShared = options.store?.type === 'etcd'
  if (controllers !== false) {
    const started = await startControllers({
      transport: apiServer.transport(CONTROLLER_MANAGER),
      transportFor: (name) => apiServer.transport(controllerIdentity(name), name),
      rootCertificate: (await certificates).ca.cert,
      certificateSigner: certificateSigner(await certificates),
      isShared,
      ...(controllers !== true && { names: controllers }),
      ...(options.loadBalancerPools && { loadBalancerPools: options.loadBalancerPools }),
      ...(options.volumesDirectory && { volumesDirectory: options.volumesDirectory }),
      clusterCidrs: options.clusterCidrs ?? clusterCidrsFor(typeof nodes === 'number' ? nodes : nodes.length),
      clock,
      random,
      log,
    })
    loops.controllers = stack.use(started)
  }
  if (scheduler !== false) {
    const transport = apiServer.transport(SCHEDULER)
    const configuration = scheduler === true ? {} : { configuration: scheduler }
    loops.scheduler = stack.use(
      await startClusterScheduler({ transport, isShared, clock, random, log, ...configuration }),
    )
  }
  if (nodes !== 0) {
    const awaitPodCIDR = controllers === true || (controllers !== false && controllers.includes('node-ipam-controller'))
    const transport = apiServer.transport(SIMULATED_NODES)
    loops.nodes = stack.use(await startNodes({ transport, clock, random, log, nodes, awaitPodCIDR }))
  }
}
