/** What the service proxy knows of one port of a Service, in one IP family: the only thing a backend ever renders. */
import type { IPFamily } from '../base/ip-address.ts'

export type Protocol = 'TCP' | 'UDP' | 'SCTP'

/** `default/web:http/TCP/IPv4` */
export type ServicePortKey = string

export interface Endpoint {
  readonly ip: string
  readonly port: number
  /** On this node. */
  readonly isLocal: boolean
  /** `ip port`: equal for equal targets. */
  readonly id: string
}

/** What happens to a packet that comes to an address of the port. */
export type TrafficTarget =
  /** To one of the endpoints. */
  | 'balance'
  /** There is no endpoint anywhere: the client is told. */
  | 'reject'
  /** A Local policy, and all endpoints are elsewhere: silence, so that a load balancer tries another node. */
  | 'drop'

export interface ServicePort {
  readonly key: ServicePortKey
  /** `default/web` */
  readonly service: string
  /** `default/web:http`, as kube-proxy writes it into comments. */
  readonly name: string
  readonly family: IPFamily
  readonly protocol: Protocol
  readonly port: number
  /** Empty if another Service holds the same address, protocol and port. */
  readonly clusterIP: string
  /** 0 if there is none. */
  readonly nodePort: number
  readonly externalIPs: readonly string[]
  /** Those that packets reach with their destination unchanged (`ipMode: VIP`). */
  readonly loadBalancerIPs: readonly string[]
  /** Who may use the load-balancer addresses, as CIDRs; empty: everyone. */
  readonly sourceRanges: readonly string[]
  /** How long a client stays with its endpoint. Undefined: no affinity. */
  readonly affinitySeconds: number | undefined
  readonly internalPolicyLocal: boolean
  readonly externalPolicyLocal: boolean
  /** 0 if there is none. */
  readonly healthCheckNodePort: number
  /** For traffic under a Cluster policy: ready ones, narrowed by topology hints; else those that still serve. */
  readonly clusterEndpoints: readonly Endpoint[]
  /** For traffic under a Local policy. Empty if no policy of this port is Local. */
  readonly localEndpoints: readonly Endpoint[]
  /** All that still serve, chosen or not: where flows may go on. Only filled for UDP. */
  readonly servingEndpoints: readonly Endpoint[]
  /** Whether any endpoint in the cluster could be used. */
  readonly hasEndpoints: boolean
}

/** The endpoints for the cluster IP. */
export const internalEndpoints = (port: ServicePort): readonly Endpoint[] =>
  port.internalPolicyLocal ? port.localEndpoints : port.clusterEndpoints

/** The endpoints for what comes from outside to node ports, external and load-balancer addresses. */
export const externalEndpoints = (port: ServicePort): readonly Endpoint[] =>
  port.externalPolicyLocal ? port.localEndpoints : port.clusterEndpoints

export const internalTarget = (port: ServicePort): TrafficTarget => targetOf(port, internalEndpoints(port))

/** Pods and the node itself pass by an external Local policy: for them it is `clusterEndpoints` that counts. */
export const externalTarget = (port: ServicePort): TrafficTarget => targetOf(port, externalEndpoints(port))

function targetOf(port: ServicePort, endpoints: readonly Endpoint[]): TrafficTarget {
  if (endpoints.length > 0) return 'balance'
  return port.hasEndpoints ? 'drop' : 'reject'
}

/** External and load-balancer addresses: those that the external policy is for, besides the node port. */
export const externalAddresses = (port: Pick<ServicePort, 'externalIPs' | 'loadBalancerIPs'>): readonly string[] => [
  ...port.externalIPs,
  ...port.loadBalancerIPs,
]

export const isExternallyAccessible = (port: Pick<ServicePort, 'nodePort' | 'externalIPs' | 'loadBalancerIPs'>) =>
  port.nodePort !== 0 || port.externalIPs.length > 0 || port.loadBalancerIPs.length > 0

/** As IANA numbers them, and the kernel with it. */
export const PROTOCOL_NUMBERS: Readonly<Record<Protocol, number>> = { TCP: 6, UDP: 17, SCTP: 132 }
