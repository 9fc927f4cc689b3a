import { DATA, END_HEADERS, END_STREAM, FRAME_HEADER_BYTES, HEADERS, writeFrameHeader } from './frames.ts'

/** Up to this size bytes are copied between the heads of their frames: cheaper than a buffer of its own for each head. */
export const COPIED_BYTES = 32 * 1024

/** Data of a stream, in as many frames as it needs. */
export function dataFrames(id: number, bytes: Buffer, isLast: boolean, maxFrame: number): Buffer {
  const { length } = bytes
  const heads = Math.max(1, Math.ceil(length / maxFrame))
  const frames = Buffer.allocUnsafe(heads * FRAME_HEADER_BYTES + length)
  let to = 0
  let from = 0
  do {
    const size = Math.min(length - from, maxFrame)
    to = writeFrameHeader(frames, to, size, DATA, isLast && from + size === length ? END_STREAM : 0, id)
    to += bytes.copy(frames, to, from, from + size)
    from += size
  } while (from < length)
  return frames
}

/** Head and body of an answer in one buffer: most answers are small. */
export function wholeAnswer(id: number, block: Buffer, body: Buffer): Buffer {
  const bytes = Buffer.allocUnsafe(2 * FRAME_HEADER_BYTES + block.length + body.length)
  let at = writeFrameHeader(bytes, 0, block.length, HEADERS, END_HEADERS, id)
  at += block.copy(bytes, at)
  at = writeFrameHeader(bytes, at, body.length, DATA, END_STREAM, id)
  body.copy(bytes, at)
  return bytes
}

/** What was framed last, by stream. Watchers of the same objects are sent the same bytes, one after the other. */
const shared: { bytes: Buffer; maxFrame: number; frames: Map<number, Buffer> } = {
  bytes: Buffer.alloc(0),
  maxFrame: 0,
  frames: new Map(),
}

/** Frames of bytes that may go to others too: a crowd on streams of the same number costs one copy. */
export function sharedDataFrames(id: number, bytes: Buffer, maxFrame: number): Buffer {
  const isRepeated = bytes === shared.bytes && maxFrame === shared.maxFrame
  const known = isRepeated ? shared.frames.get(id) : undefined
  if (known) return known
  const frames = dataFrames(id, bytes, false, maxFrame)
  // Kept from the second time on: most bytes go to one client.
  if (isRepeated) shared.frames.set(id, frames)
  else {
    shared.bytes = bytes
    shared.maxFrame = maxFrame
    shared.frames.clear()
  }
  return frames
}
