import { createSocket } from 'node:dgram'
import { createServer } from 'node:net'
import { CLUSTER_DNS_PORT } from '../../controllers/cluster-dns-service.ts'
import { KUBELET_PORT } from '../node/node-settings.ts'
import { UserError } from '../user-error.ts'

/** Of kube-proxy's health, on all addresses. */
const PROXY_HEALTH_PORT = 10_256

/** A machine that is a node shares its ports with all else that runs there: what is taken is told before anything starts. */
export async function assertPortsFree(address: string): Promise<void> {
  await assertTcp(KUBELET_PORT, address, 'the kubelet')
  await assertTcp(PROXY_HEALTH_PORT, undefined, 'the service proxy')
  await assertTcp(CLUSTER_DNS_PORT, address, 'DNS')
  await assertUdp(CLUSTER_DNS_PORT, address)
}

function assertTcp(port: number, host: string | undefined, who: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', (error) => reject(taken(port, host, who, error)))
    probe.listen({ port, ...(host !== undefined && { host }) }, () => probe.close(() => resolve()))
  })
}

function assertUdp(port: number, address: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const probe = createSocket(address.includes(':') ? 'udp6' : 'udp4')
    probe.once('error', (error) => reject(taken(port, address, 'DNS', error)))
    probe.bind({ port, address, exclusive: true }, () => probe.close(() => resolve()))
  })
}

function taken(port: number, host: string | undefined, who: string, error: Error): Error {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'EADDRNOTAVAIL')
    return new UserError(`${host} is no address of this machine`, ['Name one that other nodes reach with --node-ip.'])
  if (code !== 'EADDRINUSE') return error
  return new UserError(`port ${port} of this machine, which ${who} needs, is taken by another program`, [
    `See which one: ss -lntup 'sport = :${port}'. A machine is one node of one cluster.`,
  ])
}
