import assert from 'node:assert'
import { ConnectionError, FrameReader, frame } from '../../../src/http2/frames.ts'
import { HeaderBlocks } from '../../../src/http2/header-blocks.ts'
import { inPieces } from '../engine/pieces.ts'
import { attempt, type FuzzTarget } from '../engine/target.ts'

interface Read {
  readonly frames: [type: number, flags: number, id: number, payload: Buffer][]
  readonly end: unknown
}

/** Frames, and the header blocks in them, in one piece and in many. */
export const target: FuzzTarget = {
  steps: { fixed: 4000, perByte: 100 },
  dictionary: ['\0\0\x04\x08', '\0\0\x06\x04', '\0\0\x01\x01\x04\0\0\0\x01\x82', '\0\x40\0\0', '\0\0\0\x09\x04'],
  run(input) {
    const whole = framesOf([input])
    assert.deepStrictEqual(framesOf(inPieces(input)), whole)
    for (const [type, flags, id, payload] of whole.frames) checkRoundTrip(type, flags, id, payload)
    return { whole, headers: headersOf(whole.frames) }
  },
}

function framesOf(chunks: readonly Buffer[]): Read {
  const frames: Read['frames'] = []
  const reader = new FrameReader((type, flags, id, payload) => frames.push([type, flags, id, Buffer.from(payload)]))
  const end = attempt(() => {
    for (const chunk of chunks) reader.read(chunk)
  }, ConnectionError)
  return { frames, end }
}

function checkRoundTrip(type: number, flags: number, id: number, payload: Buffer): void {
  const { frames } = framesOf([frame(type, flags, id, payload)])
  assert.deepStrictEqual(frames, [[type, flags, id, payload]])
}

/** All frames as if they were headers and continuations. */
function headersOf(frames: Read['frames']): unknown {
  const read: unknown[] = []
  const blocks = new HeaderBlocks((id, fields, isLast) => read.push([id, fields, isLast]))
  const end = attempt(() => {
    for (const [, flags, id, payload] of frames) {
      if (blocks.isUnfinished) blocks.continuation(flags, id, payload)
      else blocks.headers(flags, id, payload)
    }
  }, ConnectionError)
  return { read, end }
}
