import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer, type Server, type TLSSocket } from 'node:tls'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Node } from '../../api/generated/core-v1.ts'
import { kubeletAddress } from '../../apiserver/kubelet-connector.ts'
import { systemClock } from '../../base/clock.ts'
import { type ClusterCertificates, loadCertificates } from '../certificates.ts'
import { kubeletConnector } from './kubelet-connector.ts'

const load = () => loadCertificates({ clock: systemClock, serverNames: ['127.0.0.1'] })
let cluster: ClusterCertificates
let servers: Server[]
let seen: string[]

beforeAll(async () => {
  cluster = await load()
  const stranger = await load()
  seen = []
  servers = [cluster, stranger].map((issuer) =>
    createServer(
      {
        ...issuer.issueServer('system:node:a', ['system:nodes'], ['127.0.0.1']),
        ca: cluster.ca.cert,
        requestCert: true,
        rejectUnauthorized: true,
      },
      (socket: TLSSocket) => {
        seen.push(`${socket.getPeerCertificate().subject.CN}${socket.isSessionReused() ? ' again' : ''}`)
        socket.on('error', () => {})
        socket.end('hello')
      },
    ),
  )
  for (const server of servers) await once(server.listen(0, '127.0.0.1'), 'listening')
})
afterAll(() => {
  for (const server of servers) server.close()
})

const nodeAt = (port: number): Node => ({
  metadata: { name: 'a' },
  status: {
    addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
    daemonEndpoints: { kubeletEndpoint: { Port: port } },
  },
})
const nodeOf = (server: Server | undefined) => nodeAt((server!.address() as AddressInfo).port)

describe('kubelets', () => {
  test('are shown who asks, and need not be shown all of it twice', async () => {
    const connector = kubeletConnector(Promise.resolve(cluster), systemClock)
    for (let i = 0; i < 2; i++) {
      const socket = await connector.dial(nodeOf(servers[0]), {})
      expect(String((await once(socket, 'data'))[0])).toBe('hello')
      await once(socket, 'close')
    }
    expect(seen).toEqual(['kube-apiserver-kubelet-client', 'kube-apiserver-kubelet-client again'])
  })

  test('with a certificate of somebody else are not believed, unless one insists', async () => {
    const connector = kubeletConnector(Promise.resolve(cluster), systemClock)
    await expect(connector.dial(nodeOf(servers[1]), {})).rejects.toThrow('certificate')
    const socket = await connector.dial(nodeOf(servers[1]), { insecure: true })
    expect(String((await once(socket, 'data'))[0])).toBe('hello')
    socket.destroy()
  })

  test('that nobody runs', async () => {
    const connector = kubeletConnector(Promise.resolve(cluster), systemClock)
    await expect(connector.dial(nodeAt(1), {})).rejects.toThrow('ECONNREFUSED')
    await expect(connector.dial({ metadata: { name: 'b' } }, {})).rejects.toThrow('node b has no address')
  })

  test('given up on', async () => {
    const connector = kubeletConnector(Promise.resolve(cluster), systemClock)
    await expect(connector.dial(nodeOf(servers[0]), { signal: AbortSignal.abort() })).rejects.toThrow()
  })
})

test.each<[addresses: [type: string, address: string][], expected: string | undefined]>([
  [
    [
      ['Hostname', 'a'],
      ['InternalIP', '10.0.0.1'],
    ],
    '10.0.0.1',
  ],
  [
    [
      ['Hostname', 'a'],
      ['ExternalIP', '1.2.3.4'],
    ],
    '1.2.3.4',
  ],
  [[['Hostname', 'a']], 'a'],
  [[], undefined],
])('of %j the address %s is used', (addresses, expected) => {
  const node = { metadata: {}, status: { addresses: addresses.map(([type, address]) => ({ type, address })) } }
  expect(kubeletAddress(node)?.host).toBe(expected)
})
