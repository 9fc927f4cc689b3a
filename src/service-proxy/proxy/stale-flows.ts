/**
 * UDP has no connections, but the kernel remembers where it sent a client's packets and goes on sending them there. What it
 * remembers about endpoints that are gone must be forgotten, or a client that keeps its port never reaches another one.
 */
import type { Conntrack, Flow, FlowFilter } from '../../linux/conntrack.ts'
import { hasCode } from '../../linux/system-error.ts'
import { externalAddresses, PROTOCOL_NUMBERS, type ServicePort } from '../service-port.ts'

const UDP = PROTOCOL_NUMBERS.UDP
/** From so many addresses on it is cheaper to look at all flows once. */
const ASKING_ONE_BY_ONE = 16

/** Ends the UDP flows to these ports that do not lead to a serving endpoint; how many it ended. */
export function endStaleFlows(conntrack: Conntrack, ports: Iterable<ServicePort>): number {
  let ended = 0
  for (const family of ['IPv4', 'IPv6'] as const) {
    const targets = new Map<string, ReadonlySet<string>>()
    const filters: FlowFilter[] = []
    for (const port of ports) {
      if (port.protocol !== 'UDP' || port.family !== family) continue
      const serving = new Set(port.servingEndpoints.map(({ id }) => id))
      for (const ip of [port.clusterIP, ...externalAddresses(port)]) {
        if (ip === '') continue
        targets.set(`${ip} ${port.port}`, serving)
        filters.push({ protocol: UDP, destination: ip, destinationPort: port.port })
      }
      if (port.nodePort === 0) continue
      targets.set(`node ${port.nodePort}`, serving)
      filters.push({ protocol: UDP, destinationPort: port.nodePort })
    }
    if (targets.size > 0) ended += endFlows(conntrack, family, filters, targets)
  }
  return ended
}

function endFlows(
  conntrack: Conntrack,
  family: ServicePort['family'],
  filters: readonly FlowFilter[],
  targets: ReadonlyMap<string, ReadonlySet<string>>,
): number {
  let ended = 0
  for (const filter of filters.length > ASKING_ONE_BY_ONE ? [{ protocol: UDP }] : filters) {
    for (const flow of conntrack.list(family === 'IPv4' ? 'ip' : 'ip6', filter)) {
      if (isStale(flow, targets) && end(conntrack, flow)) ended++
    }
  }
  return ended
}

function isStale({ original, reply }: Flow, targets: ReadonlyMap<string, ReadonlySet<string>>): boolean {
  const serving =
    targets.get(`${original.destination} ${original.destinationPort}`) ??
    targets.get(`node ${original.destinationPort}`)
  return serving !== undefined && !serving.has(`${reply.source} ${reply.sourcePort}`)
}

function end(conntrack: Conntrack, flow: Flow): boolean {
  try {
    conntrack.delete(flow)
    return true
  } catch (error) {
    // It ended by itself in between.
    if (hasCode(error, 'ENOENT')) return false
    throw error
  }
}
