/** Rules in the shape that kube-proxy writes in nftables mode: a chain for each Service and each endpoint. */
import { clusterIP, endpointsAt, PORT, TARGET_PORT } from './cluster-services.ts'

const serviceChain = (i: number) => `service-${i}`
const endpointChain = (i: number, ip: string) => `endpoint-${i}-${ip}`

function serviceRules(i: number, ips: readonly string[]): string {
  const choices = ips.map((ip, n) => `${n} : goto ${endpointChain(i, ip)}`).join(', ')
  return `add rule ip peer ${serviceChain(i)} ip daddr ${clusterIP(i)} tcp dport ${PORT} ip saddr != 10.128.0.0/9 jump mark-for-masquerade
add rule ip peer ${serviceChain(i)} numgen random mod ${ips.length} vmap { ${choices} }
`
}

const endpointRules = (i: number, ip: string) => `add chain ip peer ${endpointChain(i, ip)}
add rule ip peer ${endpointChain(i, ip)} ip saddr ${ip} jump mark-for-masquerade
add rule ip peer ${endpointChain(i, ip)} meta l4proto tcp dnat to ${ip}:${TARGET_PORT}
`

export function peerRuleset(services: number): string {
  let text = `add table ip peer
add chain ip peer nat-prerouting { type nat hook prerouting priority -100 ; }
add chain ip peer nat-output { type nat hook output priority -100 ; }
add chain ip peer nat-postrouting { type nat hook postrouting priority 100 ; }
add chain ip peer services
add chain ip peer masquerading
add chain ip peer mark-for-masquerade
add rule ip peer mark-for-masquerade meta mark set meta mark or 0x4000
add rule ip peer masquerading meta mark and 0x4000 == 0 return
add rule ip peer masquerading masquerade fully-random
add rule ip peer nat-prerouting jump services
add rule ip peer nat-output jump services
add rule ip peer nat-postrouting jump masquerading
add map ip peer service-ips { type ipv4_addr . inet_proto . inet_service : verdict ; }
add rule ip peer services ip daddr . meta l4proto . th dport vmap @service-ips
`
  for (let i = 0; i < services; i++) {
    const ips = endpointsAt(i)
    for (const ip of ips) text += endpointRules(i, ip)
    text += `add chain ip peer ${serviceChain(i)}\n${serviceRules(i, ips)}`
    text += `add element ip peer service-ips { ${clusterIP(i)} . tcp . ${PORT} : goto ${serviceChain(i)} }\n`
  }
  return text
}

/** One more endpoint for one Service. */
export function peerChange(i: number, ip: string): string {
  return `${endpointRules(i, ip)}flush chain ip peer ${serviceChain(i)}\n${serviceRules(i, [...endpointsAt(i), ip])}`
}
