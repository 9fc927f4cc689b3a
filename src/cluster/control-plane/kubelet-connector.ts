import type { Duplex } from 'node:stream'
import { connect, type TLSSocket } from 'node:tls'
import type { Node } from '../../api/generated/core-v1.ts'
import { type DialKubeletOptions, type KubeletConnector, kubeletAddress } from '../../apiserver/kubelet-connector.ts'
import { aborted, deadline } from '../../base/abort.ts'
import { ELSEWHERE_OR_HERE } from '../../base/allowed-address.ts'
import type { Clock } from '../../base/clock.ts'
import type { ClusterCertificates, KeyPair } from '../certificates.ts'
import { API_SERVER_KUBELET_CLIENT, issueClientCertificate } from '../identities.ts'

const DIAL_TIMEOUT_MS = 30_000
/** A stream may be silent for hours; one whose node vanished shall not stay for ever. */
const KEEP_ALIVE_MS = 15_000
/** The client certificate is good for much longer. */
const RENEW_MS = 90 * 24 * 60 * 60 * 1000

/** Reaches kubelets where their nodes say they listen, by TLS; each side shows a certificate of the cluster. */
export function kubeletConnector(certificates: Promise<ClusterCertificates>, clock: Clock): KubeletConnector {
  let client: Promise<{ ca: string; pair: KeyPair }> | undefined
  let issued = 0
  const sessions = new Map<string, Buffer>()
  const credentials = async () => {
    const all = await certificates
    return { ca: all.ca.cert, pair: issueClientCertificate(all, API_SERVER_KUBELET_CLIENT) }
  }
  return {
    // Simulated nodes say of themselves what they are.
    isSimulated: (node) => node.status?.nodeInfo?.osImage === 'Simulated',
    async dial(node: Node, { insecure = false, signal }: DialKubeletOptions): Promise<Duplex> {
      const address = kubeletAddress(node)
      if (!address) throw new Error(`node ${node.metadata.name} has no address`)
      // Nodes write their addresses themselves. A kubelet on this machine is usual.
      const { allows, lookup } = ELSEWHERE_OR_HERE
      if (!allows(address.host)) throw new Error(`dial ${address.host}: address not allowed`)
      if (!client || clock.now() - issued > RENEW_MS) {
        client = credentials()
        issued = clock.now()
      }
      const { ca, pair } = await client
      const key = `${address.host}:${address.port}`
      const session = insecure ? undefined : sessions.get(key)
      const socket = connect({
        ...address,
        lookup,
        ...pair,
        ca,
        rejectUnauthorized: !insecure,
        ...(session && { session }),
      })
      socket.setNoDelay(true)
      socket.setKeepAlive(true, KEEP_ALIVE_MS)
      if (!insecure) socket.on('session', (fresh: Buffer) => sessions.set(key, fresh))
      return connected(socket, clock, signal)
    },
  }
}

function connected(socket: TLSSocket, clock: Clock, parent: AbortSignal | undefined): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const limit = deadline(clock, DIAL_TIMEOUT_MS, parent)
    void aborted(limit.signal).then(() => socket.destroy(new Error('the kubelet did not answer in time')))
    socket.once('secureConnect', () => {
      limit[Symbol.dispose]()
      resolve(socket)
    })
    socket.on('error', (error) => {
      limit[Symbol.dispose]()
      reject(error)
    })
    socket.once('close', () => reject(new Error('the kubelet closed the connection')))
  })
}
