import { ipText } from '../netlink/addresses.ts'
import { be32In, be64In, type NetlinkMessage, textIn } from '../netlink/reader.ts'
import { NETLINK_NETFILTER, NetlinkSocket } from '../netlink/socket.ts'
import type { NetworkNamespace } from '../network-namespace.ts'
import type { NftTrace, TracedPacket, TraceStep } from '../nft-trace.ts'
import { FAMILY_NAMES, verdictOf } from './attributes.ts'
import { objectAttributes } from './object-reader.ts'
import { MESSAGES, messageType } from './object-writer.ts'

const TRACE_GROUP = 9
const RECEIVE_BUFFER_BYTES = 4 << 20
const STEPS = new Map<number, TraceStep['at']>([
  [1, 'policy'],
  [2, 'return'],
  [3, 'rule'],
])
const TCP = 6
const UDP = 17
const SCTP = 132

export function openKernelNftTrace(namespace?: NetworkNamespace): NftTrace {
  const watches = new Set<Disposable>()
  return {
    watch(listener) {
      const watch = watchTrace(namespace, listener)
      watches.add(watch)
      return watch
    },
    [Symbol.dispose]: () => {
      for (const watch of watches) watch[Symbol.dispose]()
    },
  }
}

function watchTrace(namespace: NetworkNamespace | undefined, listener: (step: TraceStep) => void): Disposable {
  const socket = new NetlinkSocket(NETLINK_NETFILTER, { namespace, receiveBufferBytes: RECEIVE_BUFFER_BYTES })
  socket.join(TRACE_GROUP)
  const handle = socket.onMessage(
    (message) => {
      const step = message.type === messageType(MESSAGES.trace) ? readStep(message) : undefined
      if (step) listener(step)
    },
    // A trace with gaps is still worth having.
    () => {},
  )
  return {
    [Symbol.dispose]: () => {
      handle[Symbol.dispose]()
      socket[Symbol.dispose]()
    },
  }
}

export function readStep(message: NetlinkMessage): TraceStep | undefined {
  const family = FAMILY_NAMES.get(message.data[0]!)
  const attributes = objectAttributes(message)
  const at = STEPS.get(be32In(attributes, 4) ?? 0)
  if (!family || !at) return undefined
  const handle = be64In(attributes, 3)
  const verdict = attributes.get(5)
  const policy = be32In(attributes, 16)
  const packet = readPacket(attributes.get(8), attributes.get(9))
  const inputLink = be32In(attributes, 10)
  const outputLink = be32In(attributes, 12)
  const mark = be32In(attributes, 14)
  return {
    id: be32In(attributes, 6) ?? 0,
    family,
    table: textIn(attributes, 1) ?? '',
    chain: textIn(attributes, 2) ?? '',
    at,
    ...(handle !== undefined && { handle }),
    ...(verdict && { verdict: verdictOf(verdict) }),
    ...(!verdict &&
      policy !== undefined && { verdict: { verdict: policy === 0 ? ('drop' as const) : ('accept' as const) } }),
    ...(packet && { packet }),
    ...(inputLink !== undefined && { inputLink }),
    ...(outputLink !== undefined && { outputLink }),
    ...(mark !== undefined && { mark }),
  }
}

/** The network and transport headers of the packet, as it is at this step: after NAT they are other ones. */
export function readPacket(network: Buffer | undefined, transport: Buffer | undefined): TracedPacket | undefined {
  if (!network || network.length < 20) return undefined
  const isIPv6 = network[0]! >> 4 === 6
  if (isIPv6 && network.length < 40) return undefined
  const protocol = network[isIPv6 ? 6 : 9]!
  const hasPorts = (protocol === TCP || protocol === UDP || protocol === SCTP) && (transport?.length ?? 0) >= 4
  return {
    source: ipText(isIPv6 ? network.subarray(8, 24) : network.subarray(12, 16)),
    destination: ipText(isIPv6 ? network.subarray(24, 40) : network.subarray(16, 20)),
    protocol,
    ...(hasPorts && { sourcePort: transport!.readUInt16BE(0), destinationPort: transport!.readUInt16BE(2) }),
  }
}
