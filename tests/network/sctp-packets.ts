/** As much of SCTP (RFC 9260) as it takes to ask and to answer: kernels that lead its packets often have no sockets for it. */
const COMMON_HEADER = 12
const CHUNK_HEADER = 4
const INIT_FIELDS = 16
const PARAMETER_HEADER = 4
const INIT = 1
const INIT_ACK = 2
/** Skipped by whoever does not know it. */
const TEXT_PARAMETER = 0x8fff
const WINDOW = 65_535

export interface SctpPacket {
  readonly sourcePort: number
  readonly destinationPort: number
  readonly type: 'INIT' | 'INIT ACK'
  /** What the other side must begin its packets with. */
  readonly tag: number
  readonly text: string
}

export function sctpPacket(packet: SctpPacket, verificationTag = 0): Buffer {
  const text = Buffer.from(packet.text)
  const parameter = text.length === 0 ? 0 : PARAMETER_HEADER + text.length
  const chunk = CHUNK_HEADER + INIT_FIELDS + parameter
  const bytes = Buffer.alloc(COMMON_HEADER + Math.ceil(chunk / 4) * 4)
  bytes.writeUInt16BE(packet.sourcePort, 0)
  bytes.writeUInt16BE(packet.destinationPort, 2)
  bytes.writeUInt32BE(verificationTag, 4)
  bytes[COMMON_HEADER] = packet.type === 'INIT' ? INIT : INIT_ACK
  bytes.writeUInt16BE(chunk, COMMON_HEADER + 2)
  const fields = COMMON_HEADER + CHUNK_HEADER
  bytes.writeUInt32BE(packet.tag, fields)
  bytes.writeUInt32BE(WINDOW, fields + 4)
  bytes.writeUInt16BE(1, fields + 8)
  bytes.writeUInt16BE(1, fields + 10)
  if (parameter > 0) {
    bytes.writeUInt16BE(TEXT_PARAMETER, fields + INIT_FIELDS)
    bytes.writeUInt16BE(parameter, fields + INIT_FIELDS + 2)
    text.copy(bytes, fields + INIT_FIELDS + PARAMETER_HEADER)
  }
  bytes.writeUInt32LE(crc32c(bytes), 8)
  return bytes
}

/** Undefined if it is no packet of this kind. */
export function parseSctp(bytes: Buffer): SctpPacket | undefined {
  const type = bytes[COMMON_HEADER]
  if (bytes.length < COMMON_HEADER + CHUNK_HEADER + INIT_FIELDS || (type !== INIT && type !== INIT_ACK))
    return undefined
  const end = COMMON_HEADER + bytes.readUInt16BE(COMMON_HEADER + 2)
  const fields = COMMON_HEADER + CHUNK_HEADER
  return {
    sourcePort: bytes.readUInt16BE(0),
    destinationPort: bytes.readUInt16BE(2),
    type: type === INIT ? 'INIT' : 'INIT ACK',
    tag: bytes.readUInt32BE(fields),
    text: bytes.toString('utf8', Math.min(end, fields + INIT_FIELDS + PARAMETER_HEADER), end),
  }
}

const POLYNOMIAL = 0x82f63b78

function crc32c(bytes: Uint8Array): number {
  let crc = 0xffffffff
  for (const byte of bytes) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ POLYNOMIAL : crc >>> 1
  }
  return ~crc >>> 0
}
