/** The frames of RFC 9113: their numbers, how they are written, and how a stream of bytes is cut into them. */

export const FRAME_HEADER_BYTES = 9
/** What either side must take; we ask for no more. */
export const MAX_FRAME_BYTES = 16_384

export const DATA = 0
export const HEADERS = 1
export const PRIORITY = 2
export const RST_STREAM = 3
export const SETTINGS = 4
export const PUSH_PROMISE = 5
export const PING = 6
export const GOAWAY = 7
export const WINDOW_UPDATE = 8
export const CONTINUATION = 9

export const END_STREAM = 0x1
export const ACK = 0x1
export const END_HEADERS = 0x4
export const PADDED = 0x8
export const WITH_PRIORITY = 0x20

export const SETTINGS_HEADER_TABLE_SIZE = 1
export const SETTINGS_MAX_CONCURRENT_STREAMS = 3
export const SETTINGS_INITIAL_WINDOW_SIZE = 4
export const SETTINGS_MAX_FRAME_SIZE = 5
export const SETTINGS_MAX_HEADER_LIST_SIZE = 6

export const NO_ERROR = 0
export const PROTOCOL_ERROR = 1
export const INTERNAL_ERROR = 2
export const FLOW_CONTROL_ERROR = 3
export const STREAM_CLOSED = 5
export const FRAME_SIZE_ERROR = 6
export const REFUSED_STREAM = 7
export const CANCEL = 8
export const COMPRESSION_ERROR = 9
export const ENHANCE_YOUR_CALM = 11

/** The client broke the rules of a connection: it is told, and the connection ends. */
export class ConnectionError extends Error {
  readonly code: number

  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

/** The client broke the rules of one stream: that one ends, the others go on. */
export class StreamError extends Error {
  readonly code: number
  readonly streamId: number

  constructor(streamId: number, code: number, message: string) {
    super(message)
    this.streamId = streamId
    this.code = code
  }
}

/** Writes the nine bytes before a payload, and returns where that begins. */
export function writeFrameHeader(
  out: Buffer,
  at: number,
  length: number,
  type: number,
  flags: number,
  id: number,
): number {
  out[at] = length >>> 16
  out[at + 1] = length >>> 8
  out[at + 2] = length
  out[at + 3] = type
  out[at + 4] = flags
  out[at + 5] = id >>> 24
  out[at + 6] = id >>> 16
  out[at + 7] = id >>> 8
  out[at + 8] = id
  return at + FRAME_HEADER_BYTES
}

export function frame(type: number, flags: number, id: number, payload: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(FRAME_HEADER_BYTES + payload.length)
  writeFrameHeader(bytes, 0, payload.length, type, flags, id)
  bytes.set(payload, FRAME_HEADER_BYTES)
  return bytes
}

/** A frame whose payload is numbers of 32 bits. */
export function numbersFrame(type: number, id: number, ...numbers: readonly number[]): Buffer {
  const bytes = Buffer.allocUnsafe(FRAME_HEADER_BYTES + numbers.length * 4)
  let at = writeFrameHeader(bytes, 0, numbers.length * 4, type, 0, id)
  for (const number of numbers) at = bytes.writeUInt32BE(number, at)
  return bytes
}

export function settingsFrame(settings: readonly (readonly [key: number, value: number])[]): Buffer {
  const payload = Buffer.allocUnsafe(settings.length * 6)
  let at = 0
  for (const [key, value] of settings) at = payload.writeUInt32BE(value, payload.writeUInt16BE(key, at))
  return frame(SETTINGS, 0, 0, payload)
}

/** A header block, in as many frames as it needs. */
export function headerFrames(block: Buffer, id: number, flags: number, maxFrame: number): Buffer {
  if (block.length <= maxFrame) return frame(HEADERS, flags | END_HEADERS, id, block)
  const frames: Buffer[] = []
  for (let at = 0; at < block.length; at += maxFrame) {
    const isLast = at + maxFrame >= block.length
    const more = (at === 0 ? flags : 0) | (isLast ? END_HEADERS : 0)
    frames.push(frame(at === 0 ? HEADERS : CONTINUATION, more, id, block.subarray(at, at + maxFrame)))
  }
  return Buffer.concat(frames)
}

/** What a padded payload holds besides its padding. */
export function withoutPadding(payload: Buffer, flags: number): Buffer {
  if ((flags & PADDED) === 0) return payload
  const padding = payload[0]
  if (padding === undefined || padding >= payload.length)
    throw new ConnectionError(PROTOCOL_ERROR, 'more padding than payload')
  return payload.subarray(1, payload.length - padding)
}

/** Hands on each frame when all of it is there, in whatever pieces the bytes come. */
export class FrameReader {
  #rest: Buffer | undefined
  readonly #onFrame: (type: number, flags: number, id: number, payload: Buffer) => void

  constructor(onFrame: (type: number, flags: number, id: number, payload: Buffer) => void) {
    this.#onFrame = onFrame
  }

  read(chunk: Buffer): void {
    // At most one unfinished frame is carried over, so nothing is copied more than once or twice.
    const bytes = this.#rest ? Buffer.concat([this.#rest, chunk]) : chunk
    this.#rest = undefined
    let at = 0
    while (bytes.length - at >= FRAME_HEADER_BYTES) {
      const length = (bytes[at]! << 16) | (bytes[at + 1]! << 8) | bytes[at + 2]!
      if (length > MAX_FRAME_BYTES) throw new ConnectionError(FRAME_SIZE_ERROR, 'frame too large')
      const start = at + FRAME_HEADER_BYTES
      if (bytes.length < start + length) break
      const id = bytes.readUInt32BE(at + 5) & 0x7fffffff
      const type = bytes[at + 3]!
      const flags = bytes[at + 4]!
      at = start + length
      this.#onFrame(type, flags, id, bytes.subarray(start, at))
    }
    if (at < bytes.length) this.#rest = bytes.subarray(at)
  }
}
