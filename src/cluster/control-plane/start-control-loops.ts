/** Starts controllers, scheduler and simulated nodes for the parts in control-loops.ts. */
import { CONTROLLER_MANAGER, controllerIdentity, SCHEDULER, SIMULATED_NODES } from '../identities.ts'
import { certificateSigner } from './certificate-signer.ts'
import type { ControlPlane } from './control-plane.ts'
import { startControllers } from './start-controllers.ts'
import { startClusterScheduler } from './start-scheduler.ts'
import { startSimulatedNodes } from './start-simulated-nodes.ts'

export async function startControllersOf(plane: ControlPlane): Promise<void> {
  const { apiServer, options, clock, random, log, isShared, loadBalancerPools, volumesDirectory } = plane
  const certificates = await plane.certificates
  plane.controllers = await startControllers({
    transport: apiServer.transport(CONTROLLER_MANAGER),
    transportFor: (name) => apiServer.transport(controllerIdentity(name), name),
    rootCertificate: certificates.ca.cert,
    certificateSigner: certificateSigner(certificates),
    isShared,
    ...(Array.isArray(options.controllers) && { names: options.controllers }),
    ...(loadBalancerPools && { loadBalancerPools }),
    ...(volumesDirectory && { volumesDirectory }),
    clusterCidrs: plane.clusterCidrs ?? clusterCidrsFor(options.nodes),
    clock,
    random,
    log,
  })
}

/** A /16 has room for 256 nodes of a /24 each; more get a wider range that overlaps no other default range. */
function clusterCidrsFor(nodes: ControlPlane['options']['nodes'] = 0): readonly string[] {
  const count = typeof nodes === 'number' ? nodes : nodes.length
  return count > 256 ? ['10.128.0.0/10'] : ['10.244.0.0/16']
}

export async function startSchedulerOf(plane: ControlPlane): Promise<void> {
  const { apiServer, options, clock, random, log, isShared } = plane
  const transport = apiServer.transport(SCHEDULER)
  const configuration = typeof options.scheduler === 'object' ? { configuration: options.scheduler } : {}
  plane.scheduler = await startClusterScheduler({ transport, isShared, clock, random, log, ...configuration })
}

export async function startSimulatedNodesOf(plane: ControlPlane): Promise<void> {
  const { apiServer, clock, random, log } = plane
  const { controllers = true, nodes = 0 } = plane.options
  const awaitPodCIDR = controllers === true || (controllers !== false && controllers.includes('node-ipam-controller'))
  const transport = apiServer.transport(SIMULATED_NODES)
  plane.simulatedNodes = await startSimulatedNodes({ transport, clock, random, log, nodes, awaitPodCIDR })
  plane.metrics = plane.simulatedNodes.simulated.metrics
}
