/** Ethernet frames with UDP or ICMP echo in IPv4, as far as they leave and enter by the link to the outside. */
import { type Datagram, PROTOCOL } from './datagram.ts'

const ETHERNET = 14
const ETHERTYPE_IPV4 = 0x0800
const IPV4 = 20
const UDP = 8
const ICMP = 8
const ECHO_REQUEST = 8
const ECHO_REPLY = 0
const TIME_TO_LIVE = 64
/** More fragments follow, or it is not the first. */
const IS_FRAGMENT = 0x3fff

export interface FrameEnds {
  readonly sourceMac: string
  readonly destinationMac: string
  /** The address inside. */
  readonly address: string
}

/** Undefined for what is not carried: other protocols, fragments, what is cut off. */
export function parseFrame(frame: Buffer): Datagram | undefined {
  if (frame.length < ETHERNET + IPV4 || frame.readUInt16BE(12) !== ETHERTYPE_IPV4) return undefined
  const packet = frame.subarray(ETHERNET)
  const headerLength = (packet[0]! & 0xf) * 4
  const length = packet.readUInt16BE(2)
  if (packet[0]! >> 4 !== 4 || headerLength < IPV4 || length > packet.length) return undefined
  if (packet.readUInt16BE(6) & IS_FRAGMENT) return undefined
  const host = packet.subarray(16, 20).join('.')
  const content = packet.subarray(headerLength, length)
  if (packet[9] === PROTOCOL.udp) return parseUdp(content, host)
  return packet[9] === PROTOCOL.icmp ? parseEcho(content, host) : undefined
}

function parseUdp(content: Buffer, host: string): Datagram | undefined {
  if (content.length < UDP) return undefined
  const length = content.readUInt16BE(4)
  if (length < UDP || length > content.length) return undefined
  const [localPort, port] = [content.readUInt16BE(0), content.readUInt16BE(2)]
  return { protocol: PROTOCOL.udp, localPort, host, port, payload: content.subarray(UDP, length) }
}

function parseEcho(content: Buffer, host: string): Datagram | undefined {
  if (content.length < ICMP || content[0] !== ECHO_REQUEST) return undefined
  const [localPort, port] = [content.readUInt16BE(4), content.readUInt16BE(6)]
  return { protocol: PROTOCOL.icmp, localPort, host, port, payload: content.subarray(ICMP) }
}

/** The frame that brings an answer to the one who asked. */
export function answerFrame(datagram: Datagram, { sourceMac, destinationMac, address }: FrameEnds): Buffer {
  const content = datagram.protocol === PROTOCOL.udp ? udpMessage(datagram) : echoMessage(ECHO_REPLY, datagram)
  const frame = Buffer.alloc(ETHERNET + IPV4 + content.length)
  frame.write(destinationMac.replaceAll(':', ''), 0, 'hex')
  frame.write(sourceMac.replaceAll(':', ''), 6, 'hex')
  frame.writeUInt16BE(ETHERTYPE_IPV4, 12)
  const header = frame.subarray(ETHERNET, ETHERNET + IPV4)
  header[0] = 0x45
  header.writeUInt16BE(IPV4 + content.length, 2)
  header[8] = TIME_TO_LIVE
  header[9] = datagram.protocol
  header.set(datagram.host.split('.').map(Number), 12)
  header.set(address.split('.').map(Number), 16)
  header.writeUInt16BE(checksum(header), 10)
  content.copy(frame, ETHERNET + IPV4)
  return frame
}

/** In IPv4 a checksum of zero says that there is none; the bytes never leave this machine. */
function udpMessage({ localPort, port, payload }: Datagram): Buffer {
  const message = Buffer.alloc(UDP + payload.length)
  message.writeUInt16BE(port, 0)
  message.writeUInt16BE(localPort, 2)
  message.writeUInt16BE(message.length, 4)
  message.set(payload, UDP)
  return message
}

export const echoRequest = (datagram: Datagram) => echoMessage(ECHO_REQUEST, datagram)

function echoMessage(type: number, { localPort, port, payload }: Datagram): Buffer {
  const message = Buffer.alloc(ICMP + payload.length)
  message[0] = type
  message.writeUInt16BE(localPort, 4)
  message.writeUInt16BE(port, 6)
  message.set(payload, ICMP)
  message.writeUInt16BE(checksum(message), 2)
  return message
}

/** What an echo socket received, with the identifier of the one who asked. */
export function parseEchoReply(message: Buffer, localPort: number, host: string): Datagram | undefined {
  if (message.length < ICMP || message[0] !== ECHO_REPLY) return undefined
  return {
    protocol: PROTOCOL.icmp,
    localPort,
    host,
    port: message.readUInt16BE(6),
    payload: Buffer.from(message.subarray(ICMP)),
  }
}

/** RFC 1071. */
function checksum(bytes: Buffer): number {
  let sum = 0
  for (let i = 0; i < bytes.length; i += 2) sum += (bytes[i]! << 8) | (bytes[i + 1] ?? 0)
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16)
  return ~sum & 0xffff
}
