/** Follows a packet through the rules of a mode without sending one: what tests and explanations ask. */
import type { Protocol } from './service-port.ts'

export interface TracedPacket {
  readonly source: string
  readonly destination: string
  readonly protocol: Protocol
  readonly port: number
  /** The link it came in by. None: a process of the node sent it. */
  readonly inputInterface?: string
}

export interface TraceOutcome {
  readonly verdict: 'endpoints' | 'accept' | 'reject' | 'drop'
  /** `ip:port` of all that can be chosen, sorted. */
  readonly endpoints: readonly string[]
  /** Of those endpoints, the ones that see the node's address instead of the client's. */
  readonly masqueraded: readonly string[]
  /** The comments of rules and elements on the way: whose rules they were. */
  readonly provenance: readonly string[]
}

export interface PacketTracer {
  trace(packet: TracedPacket): TraceOutcome
}
