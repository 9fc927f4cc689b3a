/** The connections that the kernel follows, and with them where a NATed flow goes. */
export interface Conntrack extends Disposable {
  /** With a filter on the original direction the kernel sorts out itself. */
  list(family: 'ip' | 'ip6', filter?: FlowFilter): Flow[]
  /** Refused with ENOENT if it is not there (any more). */
  delete(flow: Pick<Flow, 'original' | 'id'>): void
  /** Makes an entry as if packets had been seen. */
  insert(flow: NewFlow): void
  /** From now on, in the event loop, until disposed. */
  watch(listener: (event: FlowEvent) => void): Disposable
}

/** One direction of a flow. */
export interface FlowTuple {
  readonly source: string
  readonly destination: string
  /** 6 is TCP, 17 UDP, 132 SCTP. */
  readonly protocol: number
  readonly sourcePort: number
  readonly destinationPort: number
}

export interface Flow {
  /** As the client sent it. */
  readonly original: FlowTuple
  /** As the answer comes: its source is the endpoint that was chosen. */
  readonly reply: FlowTuple
  readonly id: number
  readonly status: number
  readonly mark: number
  readonly timeoutSeconds?: number
}

export interface NewFlow {
  readonly original: FlowTuple
  readonly reply: FlowTuple
  readonly timeoutSeconds: number
  readonly mark?: number
}

export interface FlowFilter {
  readonly protocol: number
  readonly destination?: string
  readonly destinationPort?: number
}

export type FlowEvent =
  | { readonly change: 'new' | 'updated' | 'destroyed'; readonly flow: Flow }
  /** Events were lost: list again. */
  | { readonly change: 'overrun' }

/** What `status` is made of. */
export const FLOW_STATUS = {
  expected: 1,
  seenReply: 2,
  assured: 4,
  confirmed: 8,
  sourceNat: 16,
  destinationNat: 32,
} as const
