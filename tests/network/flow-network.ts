/**
 * The network behind the names of the packet-flow tables, both families at once:
 *
 *   pods P L1 L2 ──┐
 *                  node N ──── outside E F
 *   another node ──┘
 *   with R1 R2
 *
 * Pods are routed, each by a link of its own, so that every packet between them passes the node's rules.
 */
import { writeFileSync } from 'node:fs'
import type { IPFamily } from '../../src/base/ip-address.ts'
import { kernelLinux } from '../../src/linux/kernel-linux.ts'
import type { NetworkNamespace } from '../../src/linux/network-namespace.ts'
import { LOOPBACK_INDEX, type Rtnetlink } from '../../src/linux/rtnetlink.ts'
import {
  addressOf,
  type Placement,
  placementOf,
  TARGET_PORT,
  THIS_NODE,
} from '../../src/service-proxy/packet-flow-objects.contract.ts'
import { serveSctp } from './flow-sctp.ts'
import { type Place, serve } from './flow-sockets.ts'

export const FAMILIES: readonly IPFamily[] = ['IPv4', 'IPv6']
const PODS = ['P', 'L1', 'L2']
const OUTSIDE = ['E', 'F']
const REMOTE = ['R1', 'R2']
/** The node's side of each link to a pod, and of the link to the other node. */
const POD_GATEWAY: Readonly<Record<IPFamily, string>> = { IPv4: '10.244.0.1', IPv6: 'fd00:10:244::1' }
const TRANSFER: Readonly<Record<IPFamily, readonly [string, string]>> = {
  IPv4: ['192.168.20.1', '192.168.20.2'],
  IPv6: ['fd00:192:168:20::1', 'fd00:192:168:20::2'],
}
const ALL: Readonly<Record<IPFamily, string>> = { IPv4: '0.0.0.0/0', IPv6: '::/0' }
const HOST: Readonly<Record<IPFamily, number>> = { IPv4: 32, IPv6: 128 }
const SUBNET: Readonly<Record<IPFamily, number>> = { IPv4: 24, IPv6: 64 }

/** A node with a service proxy: its name in the tables, and that of its Node object. */
export interface FlowNode {
  readonly name: string
  readonly nodeName: string
  readonly place: Place
}

export interface FlowNetwork extends AsyncDisposable {
  readonly node: Place
  /** The same one first, and the others that have a proxy. */
  readonly nodes: readonly FlowNode[]
  readonly placement: Placement
  /** Where a name of the tables is. */
  place(name: string): Place
}

let networks = 0

export async function startFlowNetwork(): Promise<FlowNetwork> {
  const linux = kernelLinux()
  const id = `${process.pid}-${networks++}`
  const namespaces: NetworkNamespace[] = []
  const networksOf = new Map<NetworkNamespace, Rtnetlink>()
  const closers: (() => void)[] = []
  const create = (name: string): NetworkNamespace => {
    const namespace = linux.namespaces.create(`sampan-flow-${id}-${name}`)
    namespaces.push(namespace)
    const network = linux.openRtnetlink(namespace)
    networksOf.set(namespace, network)
    network.changeLink(LOOPBACK_INDEX, { up: true })
    return namespace
  }
  const dispose = async () => {
    for (const close of closers) close()
    for (const network of networksOf.values()) network[Symbol.dispose]()
    for (const namespace of namespaces) {
      namespace[Symbol.dispose]()
      linux.namespaces.delete(namespace.name)
    }
  }
  try {
    const node = create('node')
    const outside = create('outside')
    const other = create('other')
    const pods = new Map(PODS.map((name) => [name, create(name.toLowerCase())]))
    linux.namespaces.inNamespace(node, forwardPackets)
    const of = (namespace: NetworkNamespace) => networksOf.get(namespace)!
    for (const [name, pod] of pods) connectPod(of(node), of(pod), pod, name)
    connectOutside(of(node), of(outside), outside)
    connectOther(of(node), of(other), other)
    const place = (name: string): Place => {
      if (name === 'N') return { linux, namespace: node }
      if (OUTSIDE.includes(name)) return { linux, namespace: outside }
      return { linux, namespace: pods.get(name) ?? other }
    }
    for (const family of FAMILIES) {
      for (const name of ['L1', 'L2', ...REMOTE]) {
        const server = [place(name), name, addressOf(name, family), TARGET_PORT] as const
        closers.push(await serve(...server), serveSctp(...server))
      }
    }
    return {
      node: place('N'),
      nodes: [{ name: 'N', nodeName: THIS_NODE, place: place('N') }],
      placement: placementOf(...FAMILIES),
      place,
      [Symbol.asyncDispose]: dispose,
    }
  } catch (error) {
    await dispose()
    throw error
  }
}

function forwardPackets(): void {
  writeFileSync('/proc/sys/net/ipv4/ip_forward', '1')
  writeFileSync('/proc/sys/net/ipv6/conf/all/forwarding', '1')
  patientWithRefusals()
}

/** The tables ask more often than a kernel likes to say no. */
export function patientWithRefusals(): void {
  writeFileSync('/proc/sys/net/ipv4/icmp_ratelimit', '0')
  writeFileSync('/proc/sys/net/ipv6/icmp/ratelimit', '0')
}

function addVeth(node: Rtnetlink, inside: Rtnetlink, namespace: NetworkNamespace, name: string): [number, number] {
  const outer = node.addLink({ kind: 'veth', name, up: true, peer: { name: 'eth0', namespace } })
  const inner = inside.link('eth0')!
  inside.changeLink(inner.index, { up: true })
  return [outer.index, inner.index]
}

function connectPod(node: Rtnetlink, pod: Rtnetlink, namespace: NetworkNamespace, name: string): void {
  const [outer, inner] = addVeth(node, pod, namespace, `veth-${name.toLowerCase()}`)
  for (const family of FAMILIES) {
    const gateway = POD_GATEWAY[family]
    const host = HOST[family]
    const ip = addressOf(name, family)
    node.addAddress({ link: outer, address: `${gateway}/${host}` })
    node.addRoute({ destination: `${ip}/${host}`, link: outer })
    pod.addAddress({ link: inner, address: `${ip}/${host}` })
    pod.addRoute({ destination: `${gateway}/${host}`, link: inner })
    pod.addRoute({ destination: ALL[family], gateway, link: inner, onlink: true })
  }
}

export function connectOutside(node: Rtnetlink, outside: Rtnetlink, namespace: NetworkNamespace): void {
  const [outer, inner] = addVeth(node, outside, namespace, 'uplink')
  for (const family of FAMILIES) {
    node.addAddress({ link: outer, address: `${addressOf('N', family)}/${SUBNET[family]}` })
    for (const name of OUTSIDE) {
      outside.addAddress({ link: inner, address: `${addressOf(name, family)}/${SUBNET[family]}` })
    }
    outside.addRoute({ destination: ALL[family], gateway: addressOf('N', family), link: inner })
    node.addRoute({ destination: ALL[family], gateway: addressOf('E', family), link: outer })
  }
}

function connectOther(node: Rtnetlink, other: Rtnetlink, namespace: NetworkNamespace): void {
  const [outer, inner] = addVeth(node, other, namespace, 'transfer')
  for (const family of FAMILIES) {
    const [here, there] = TRANSFER[family]
    node.addAddress({ link: outer, address: `${here}/${SUBNET[family]}` })
    other.addAddress({ link: inner, address: `${there}/${SUBNET[family]}` })
    other.addRoute({ destination: ALL[family], gateway: here, link: inner })
    for (const name of REMOTE) {
      const host = `${addressOf(name, family)}/${HOST[family]}`
      other.addAddress({ link: LOOPBACK_INDEX, address: host })
      node.addRoute({ destination: host, gateway: there, link: outer })
    }
  }
}
