/**
 * Controllers, scheduler and simulated nodes. They are a quarter of the program: each is loaded when it starts, so that
 * the API answers earlier.
 */
import { CONTROLLER_MANAGER, controllerIdentity, SCHEDULER, SIMULATED_NODES } from '../identities.ts'
import type { Part } from '../part.ts'
import type { ControlPlane } from './control-plane.ts'

export const controllers: Part<ControlPlane> = {
  name: 'controllers',
  inBackground: true,
  isNeeded: ({ options }) => options.controllers !== false,
  async start(plane) {
    const { apiServer, options, clock, random, log, isShared, loadBalancerPools, volumesDirectory } = plane
    const [{ startControllers }, { certificateSigner }] = await Promise.all([
      import('./start-controllers.ts'),
      import('./certificate-signer.ts'),
    ])
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
  },
  stop: (plane) => plane.controllers?.[Symbol.asyncDispose](),
}

export const scheduler: Part<ControlPlane> = {
  name: 'scheduler',
  inBackground: true,
  isNeeded: ({ options }) => options.scheduler !== false,
  async start(plane) {
    const { apiServer, options, clock, random, log, isShared } = plane
    const { startClusterScheduler } = await import('./start-scheduler.ts')
    const transport = apiServer.transport(SCHEDULER)
    const configuration = typeof options.scheduler === 'object' ? { configuration: options.scheduler } : {}
    plane.scheduler = await startClusterScheduler({ transport, isShared, clock, random, log, ...configuration })
  },
  stop: (plane) => plane.scheduler?.[Symbol.asyncDispose](),
}

export const simulatedNodes: Part<ControlPlane> = {
  name: 'simulated nodes',
  inBackground: true,
  isNeeded: ({ options }) => (options.nodes ?? 0) !== 0,
  async start(plane) {
    const { apiServer, clock, random, log } = plane
    const { controllers = true, nodes = 0 } = plane.options
    const { startSimulatedNodes } = await import('./start-simulated-nodes.ts')
    const awaitPodCIDR = controllers === true || (controllers !== false && controllers.includes('node-ipam-controller'))
    const transport = apiServer.transport(SIMULATED_NODES)
    plane.simulatedNodes = await startSimulatedNodes({ transport, clock, random, log, nodes, awaitPodCIDR })
    plane.metrics = plane.simulatedNodes.simulated.metrics
  },
  stop: (plane) => plane.simulatedNodes?.[Symbol.asyncDispose](),
}

/** A /16 has room for 256 nodes of a /24 each; more get a wider range that overlaps no other default range. */
function clusterCidrsFor(nodes: ControlPlane['options']['nodes'] = 0): readonly string[] {
  const count = typeof nodes === 'number' ? nodes : nodes.length
  return count > 256 ? ['10.128.0.0/10'] : ['10.244.0.0/16']
}
