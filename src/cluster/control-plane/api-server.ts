import { startApiServer } from '../../apiserver/server.ts'
import { systemClock } from '../../base/clock.ts'
import { createClient } from '../../client/client.ts'
import type { MetricsSource } from '../../client/metrics-source.ts'
import { serviceAccountKeys } from '../credentials/service-account-keys.ts'
import { ADMINISTRATOR } from '../identities.ts'
import type { Part } from '../part.ts'
import { pluginsWithoutControllers } from './admission-without-controllers.ts'
import type { ControlPlane } from './control-plane.ts'
import { kubeletConnector } from './kubelet-connector.ts'
import { isWildcard } from './listen-addresses.ts'

const LOOPBACK = '127.0.0.1'

/** The API server, for parts of this process; the listener opens it to others. */
export const apiServer: Part<ControlPlane> = {
  name: 'API server',
  async start(plane) {
    const { options, certificates, clock, random, log, store, serviceCidrs, address } = plane
    plane.apiServer = await startApiServer({
      store,
      sharedStore: plane.isShared,
      clock,
      random,
      log,
      serviceCidrs,
      authentication: { ...options.authentication, serviceAccounts: { keys: serviceAccountKeys(certificates) } },
      ...(options.authorization && { authorization: options.authorization }),
      rootCertificate: async () => (await certificates).ca.cert,
      frontProxy: async () => (await certificates).frontProxy(),
      // Connections take the system's time, also when the cluster has a clock of its own.
      kubelets: kubeletConnector(certificates, systemClock),
      enableAdmissionPlugins: options.enableAdmissionPlugins ?? [],
      disableAdmissionPlugins: [...pluginsWithoutControllers(options), ...(options.disableAdmissionPlugins ?? [])],
      ...(options.audit && { audit: options.audit }),
      ...(options.encryption && { encryption: options.encryption }),
      ...(options.encryptionChanges && { encryptionChanges: options.encryptionChanges }),
      ...(options.nodePortRange && { nodePortRange: options.nodePortRange }),
      ...metricsSourceOf(plane),
      ...(address && { advertise: { host: plane.alsoAt[0] ?? plane.machineAddress, port: address.port } }),
    })
    plane.transport = plane.apiServer.transport(ADMINISTRATOR)
    plane.client = createClient(plane.transport)
  },
  stop: (plane) => plane.apiServer[Symbol.asyncDispose](),
}

/** HTTPS, at every address. The API server closes its listeners itself. */
export const listener: Part<ControlPlane> = {
  name: 'HTTPS listener',
  isNeeded: (plane) => plane.address !== undefined,
  async start(plane) {
    const { host, port } = plane.address!
    plane.url = await listen(plane, host, port)
    for (const other of plane.alsoAt) await listen(plane, other, port)
  },
}

/** Serves HTTPS at one more address, and returns its URL. */
export async function listen(plane: ControlPlane, host = LOOPBACK, port = 0): Promise<string> {
  const certificates = await plane.certificates
  // Read at the first connection: in memory the certificate is made then.
  const tls = {
    get key() {
      return certificates.server.key
    },
    get cert() {
      return certificates.server.cert
    },
    clientCa: certificates.ca.cert,
  }
  const opened = await plane.apiServer.listen({ host, port, tls })
  plane.listeners.push(opened)
  return urlOf(isWildcard(host) ? LOOPBACK : host, opened.port)
}

export const urlOf = (host: string, port: number) => `https://${host.includes(':') ? `[${host}]` : host}:${port}`

/** The nodes, which know their usage, start after the API server that serves it. */
function metricsSourceOf(plane: ControlPlane): { metricsSource?: MetricsSource } {
  const { metricsSource, nodes = 0, realNodes } = plane.options
  if (metricsSource) return { metricsSource }
  if (!realNodes && (typeof nodes === 'number' ? nodes : nodes.length) === 0) return {}
  const source: MetricsSource = {
    node: (name) => plane.metrics?.node(name),
    nodes: () => plane.metrics?.nodes() ?? [],
    pod: (namespace, name) => plane.metrics?.pod(namespace, name),
    pods: (namespace) => plane.metrics?.pods(namespace) ?? [],
  }
  return { metricsSource: source }
}
