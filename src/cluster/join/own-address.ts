import { createSocket } from 'node:dgram'
import { lookup } from 'node:dns/promises'
import { parseCIDR, parseIP } from '../../base/ip-address.ts'
import type { AgreedConfiguration } from '../node/agreed-configuration.ts'
import { UserError } from '../user-error.ts'

/** The address of this machine that packets to the server leave with. Nothing is sent. */
export async function addressTowards(server: URL): Promise<string> {
  const host = server.hostname.replace(/^\[|\]$/g, '')
  const { address, family } = await lookup(host, { order: 'ipv4first' }).catch((error: Error) => {
    throw new UserError(`cannot resolve ${host}`, ['Use its IP address.'], { cause: error })
  })
  return new Promise((resolve, reject) => {
    const socket = createSocket(family === 6 ? 'udp6' : 'udp4')
    const fail = (error: Error) => {
      socket.close()
      reject(
        new UserError(`this machine has no way to ${address}: ${error.message}`, ['Does its network work?'], {
          cause: error,
        }),
      )
    }
    socket.once('error', fail)
    socket.connect(Number(server.port || 443), address, (error?: Error) => {
      if (error) return fail(error)
      const own = socket.address().address
      socket.close()
      resolve(own)
    })
  })
}

/** Nodes reach each other by the family of their pods' addresses. */
export function assertFamilyOfPods(address: string, { clusterCidrs }: Pick<AgreedConfiguration, 'clusterCidrs'>): void {
  const family = parseIP(address)!.family
  const families = [...new Set(clusterCidrs.map((cidr) => parseCIDR(cidr)!.family))]
  if (families.includes(family)) return
  throw new UserError(`nodes of this cluster reach each other by ${families.join(' and ')}, not by ${address}`, [
    'Say by which address of this machine: --node-ip ADDRESS',
  ])
}
