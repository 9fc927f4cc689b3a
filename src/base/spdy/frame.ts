export const FrameType = {
  SYN_STREAM: 1,
  SYN_REPLY: 2,
  RST_STREAM: 3,
  SETTINGS: 4,
  PING: 6,
  GOAWAY: 7,
  HEADERS: 8,
  WINDOW_UPDATE: 9,
} as const

export const ResetStatus = { PROTOCOL_ERROR: 1, INVALID_STREAM: 2, REFUSED_STREAM: 3, CANCEL: 5 } as const

export const FLAG_FIN = 0x01
export const INITIAL_WINDOW_SIZE_SETTING = 7

const HEADER_BYTES = 8
const VERSION = 0x8003
/** Control frames of these protocols are tiny; a larger one is no SPDY. */
const MAX_CONTROL_BYTES = 64 * 1024
/** Below this a frame goes out as one piece. */
const SMALL_BYTES = 16 * 1024

export interface FrameHandler {
  control(type: number, flags: number, body: Buffer): void
  /** A part of a data frame, as it arrives; `isLast` with the last part of a frame that ends the stream. */
  data(streamId: number, part: Buffer, isLast: boolean): void
}

export class SpdyProtocolError extends Error {
  override readonly name = 'SpdyProtocolError'
}

/** Takes bytes as they come and hands out frames. Data is not held back until its frame is whole. */
export class FrameReader {
  readonly #handler: FrameHandler
  #waiting: Buffer | undefined
  #dataStream = 0
  #dataLeft = 0
  #dataFlags = 0

  constructor(handler: FrameHandler) {
    this.#handler = handler
  }

  push(chunk: Buffer): void {
    let bytes = this.#waiting ? Buffer.concat([this.#waiting, chunk]) : chunk
    this.#waiting = undefined
    while (bytes.length > 0) {
      const used = this.#dataLeft > 0 ? this.#readData(bytes) : this.#readFrame(bytes)
      if (used === 0) {
        this.#waiting = bytes
        return
      }
      bytes = bytes.subarray(used)
    }
  }

  #readData(bytes: Buffer): number {
    const part = bytes.length > this.#dataLeft ? bytes.subarray(0, this.#dataLeft) : bytes
    this.#dataLeft -= part.length
    this.#handler.data(this.#dataStream, part, this.#dataLeft === 0 && (this.#dataFlags & FLAG_FIN) !== 0)
    return part.length
  }

  /** How many bytes it took; 0 if the frame is not whole yet. */
  #readFrame(bytes: Buffer): number {
    if (bytes.length < HEADER_BYTES) return 0
    const flags = bytes[4]!
    const length = bytes.readUIntBE(5, 3)
    if ((bytes[0]! & 0x80) === 0) {
      this.#dataStream = bytes.readUInt32BE(0)
      this.#dataFlags = flags
      this.#dataLeft = length
      if (length === 0) this.#handler.data(this.#dataStream, bytes.subarray(0, 0), (flags & FLAG_FIN) !== 0)
      return HEADER_BYTES
    }
    if (bytes.readUInt16BE(0) !== VERSION) throw new SpdyProtocolError('this is not SPDY/3.1')
    if (length > MAX_CONTROL_BYTES) throw new SpdyProtocolError('a control frame is too long')
    if (bytes.length < HEADER_BYTES + length) return 0
    this.#handler.control(bytes.readUInt16BE(2), flags, bytes.subarray(HEADER_BYTES, HEADER_BYTES + length))
    return HEADER_BYTES + length
  }
}

export function controlFrame(type: number, flags: number, ...parts: (number | Buffer)[]): Buffer {
  const body = parts.map((part) => (typeof part === 'number' ? uint32(part) : part))
  const header = Buffer.alloc(HEADER_BYTES)
  header.writeUInt16BE(VERSION, 0)
  header.writeUInt16BE(type, 2)
  header[4] = flags
  header.writeUIntBE(
    body.reduce((sum, part) => sum + part.length, 0),
    5,
    3,
  )
  return Buffer.concat([header, ...body])
}

/** One buffer for small data, two for large: copying costs less than a second write, up to a size. */
export function dataFrame(streamId: number, flags: number, data: Buffer): Buffer[] {
  const isSmall = data.length <= SMALL_BYTES
  const header = Buffer.allocUnsafe(isSmall ? HEADER_BYTES + data.length : HEADER_BYTES)
  header.writeUInt32BE(streamId, 0)
  header[4] = flags
  header.writeUIntBE(data.length, 5, 3)
  if (!isSmall) return [header, data]
  data.copy(header, HEADER_BYTES)
  return [header]
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}
