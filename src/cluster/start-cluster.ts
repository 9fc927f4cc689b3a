import { enableFeatures } from '../api/feature-gates.ts'
import type { ClusterCertificates } from './certificates.ts'
import type { Cluster } from './cluster.ts'
import { listen } from './control-plane/api-server.ts'
import { ControlPlane, type ControlPlaneOptions } from './control-plane/control-plane.ts'
import { CONTROL_PLANE_PARTS } from './control-plane/parts.ts'
import { renderKubeconfig } from './credentials/render-kubeconfig.ts'
import { type Part, Parts } from './part.ts'

export type { Cluster, ClusterOptions } from './cluster.ts'

/** Starts a Kubernetes control plane in this process: walks the list of its parts. */
export async function startCluster(
  options: ControlPlaneOptions = {},
  list: readonly Part<ControlPlane>[] = CONTROL_PLANE_PARTS,
): Promise<Cluster> {
  enableFeatures(options.featureGates ?? [])
  const plane = await ControlPlane.prepare(options)
  const { clock, log } = plane
  const ready = options.background ? { ready: options.background } : {}
  const parts = new Parts(list, plane, { clock, log, ...ready })
  await parts.start()
  plane.cluster = clusterOf(plane, parts, await servedCertificates(plane))
  return plane.cluster
}

/** Needed by `kubeconfig`, which is no promise. */
const servedCertificates = (plane: ControlPlane) => (plane.address ? plane.certificates : undefined)

function clusterOf(plane: ControlPlane, parts: Parts<ControlPlane>, served?: ClusterCertificates): Cluster {
  let certificates = served
  return {
    client: plane.client,
    transport: plane.transport,
    store: plane.store,
    certificates: plane.certificates,
    get url() {
      return plane.url
    },
    get kubeconfig() {
      if (!plane.url || !certificates) throw new Error('this cluster does not listen, so no kubeconfig can reach it')
      const { ca, admin } = certificates
      return renderKubeconfig({ name: plane.options.name ?? 'sampan', server: plane.url, ca: ca.cert, client: admin })
    },
    get nodes() {
      return plane.simulatedNodes?.simulated
    },
    get isBusy() {
      return [plane.controllers, plane.scheduler, plane.simulatedNodes?.simulated].some((part) => part?.isBusy)
    },
    get parts() {
      return parts.status
    },
    async listen({ host, port } = {}) {
      certificates = await plane.certificates
      plane.url = await listen(plane, host, port)
      return plane.url
    },
    transportFor: (user) => plane.apiServer.transport(user),
    [Symbol.asyncDispose]: () => parts.stop(),
  }
}
