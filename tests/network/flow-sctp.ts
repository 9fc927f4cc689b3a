/** SCTP by raw sockets: a server that answers INIT, and a client that asks with it. */
import { formatIP, type IPFamily, parseIP } from '../../src/base/ip-address.ts'
import { linuxCalls } from '../../src/linux/ffi.ts'
import { LinuxError } from '../../src/linux/system-error.ts'
import { PROTOCOL_NUMBERS } from '../../src/service-proxy/service-port.ts'
import { type Answer, DOMAINS, failure, type Place, socketAddress, type Target } from './flow-sockets.ts'
import { parseSctp, sctpPacket } from './sctp-packets.ts'

const RAW = 3
const DATAGRAM = 2
const NONBLOCK_CLOEXEC = 0o4000 | 0o2000000
const AF_PACKET = 17
/** In network byte order. */
const ETHERNET_TYPES: Readonly<Record<IPFamily, number>> = { IPv4: 0x0008, IPv6: 0xdd86 }
const EAGAIN = 11
const POLL_MS = 4

function open(place: Place, domain: number, type: number, protocol: number): number {
  const make = () => linuxCalls().socket(domain, type | NONBLOCK_CLOEXEC, protocol)
  const fd = place.linux.namespaces.inNamespace(place.namespace, make)
  if (fd < 0) throw new LinuxError(-fd, 'socket')
  return fd
}

function rawSocket(place: Place, family: IPFamily, from: string, to?: string): number {
  const fd = open(place, DOMAINS[family], RAW, PROTOCOL_NUMBERS.SCTP)
  linuxCalls().bind(fd, socketAddress(from, 0))
  if (to !== undefined) linuxCalls().connect(fd, socketAddress(to, 0))
  return fd
}

/** Its name and whom it sees, in the INIT ACK. Whole packets are read, for the address of the client. */
export function serveSctp(place: Place, name: string, ip: string, port: number): () => void {
  const family = parseIP(ip)!.family
  // Without a socket of the protocol the kernel would refuse it.
  const owner = rawSocket(place, family, ip)
  const packets = open(place, AF_PACKET, DATAGRAM, ETHERNET_TYPES[family])
  const bytes = Buffer.alloc(2048)
  const answerAll = () => {
    for (let length = linuxCalls().recv(packets, bytes, 0); length > 0; length = linuxCalls().recv(packets, bytes, 0)) {
      const { protocol, source, destination, payload } = parsePacket(bytes.subarray(0, length), family)
      if (protocol !== PROTOCOL_NUMBERS.SCTP || destination !== ip) continue
      const asked = parseSctp(payload)
      if (asked?.type !== 'INIT' || asked.destinationPort !== port) continue
      const text = `${name} ${source}`
      const ports = { sourcePort: port, destinationPort: asked.sourcePort }
      const answer = sctpPacket({ ...ports, type: 'INIT ACK', tag: 1, text }, asked.tag)
      const fd = rawSocket(place, family, ip, source)
      linuxCalls().send(fd, answer, answer.length, 0)
      linuxCalls().close(fd)
    }
  }
  const watch = linuxCalls().onReadable(packets, answerAll)
  return () => {
    watch[Symbol.dispose]()
    for (const fd of [owner, packets]) linuxCalls().close(fd)
  }
}

let clientPort = 40_000

export async function askSctp(place: Place, { source, ip, port }: Target, patienceMs: number): Promise<Answer> {
  const family = parseIP(ip)!.family
  const fd = rawSocket(place, family, source, ip)
  const sourcePort = clientPort++
  try {
    const question = sctpPacket({ sourcePort, destinationPort: port, type: 'INIT', tag: sourcePort, text: '' })
    linuxCalls().send(fd, question, question.length, 0)
    const bytes = Buffer.alloc(2048)
    for (let waited = 0; waited < patienceMs; ) {
      const length = linuxCalls().recv(fd, bytes, 0)
      if (length === -EAGAIN) {
        await new Promise((resolve) => setTimeout(resolve, POLL_MS))
        waited += POLL_MS
        continue
      }
      if (length < 0) return failure(-length)
      // A raw socket of IPv4 gives the header as well.
      const answer = parseSctp(bytes.subarray(family === 'IPv4' ? (bytes[0]! & 15) * 4 : 0, length))
      if (answer?.type !== 'INIT ACK' || answer.destinationPort !== sourcePort) continue
      const [name, seen] = answer.text.split(' ') as [string, string]
      return { name, seen }
    }
    return 'drop'
  } finally {
    linuxCalls().close(fd)
  }
}

function parsePacket(packet: Buffer, family: IPFamily) {
  const [from, to, size] = family === 'IPv4' ? [12, 16, 4] : [8, 24, 16]
  const text = (at: number) =>
    formatIP({ family, value: BigInt(`0x${packet.subarray(at, at + size).toString('hex')}`) })
  const header = family === 'IPv4' ? (packet[0]! & 15) * 4 : 40
  const protocol = packet[family === 'IPv4' ? 9 : 6]
  return { protocol, source: text(from), destination: text(to), payload: packet.subarray(header) }
}
