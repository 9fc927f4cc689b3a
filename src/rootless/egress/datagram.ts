/** Datagrams between the two sides: frames on a stream. */
export const PROTOCOL = { icmp: 1, udp: 17 } as const
export type DatagramProtocol = (typeof PROTOCOL)[keyof typeof PROTOCOL]

export interface Datagram {
  readonly protocol: DatagramProtocol
  /** The port inside; of an echo, its identifier. */
  readonly localPort: number
  readonly host: string
  /** The port outside; of an echo, the number in its sequence. */
  readonly port: number
  readonly payload: Uint8Array
}

const HEADER = 11

export function encodeDatagram({ protocol, localPort, host, port, payload }: Datagram): Buffer {
  const frame = Buffer.allocUnsafe(HEADER + payload.length)
  frame.writeUInt16BE(payload.length, 0)
  frame.writeUInt8(protocol, 2)
  frame.writeUInt16BE(localPort, 3)
  frame.set(host.split('.').map(Number), 5)
  frame.writeUInt16BE(port, 9)
  frame.set(payload, HEADER)
  return frame
}

/** Puts pieces of a stream together again. */
export class DatagramReader {
  #rest: Buffer = Buffer.alloc(0)

  read(chunk: Buffer): Datagram[] {
    const found: Datagram[] = []
    const bytes = this.#rest.length > 0 ? Buffer.concat([this.#rest, chunk]) : chunk
    let at = 0
    while (bytes.length - at >= HEADER) {
      const end = at + HEADER + bytes.readUInt16BE(at)
      if (bytes.length < end) break
      found.push({
        protocol: bytes.readUInt8(at + 2) as DatagramProtocol,
        localPort: bytes.readUInt16BE(at + 3),
        host: bytes.subarray(at + 5, at + 9).join('.'),
        port: bytes.readUInt16BE(at + 9),
        payload: bytes.subarray(at + HEADER, end),
      })
      at = end
    }
    this.#rest = Buffer.from(bytes.subarray(at))
    return found
  }
}
