import assert from 'node:assert'
import { FrameReader, SpdyProtocolError } from '../../../src/base/spdy/frame.ts'
import { HeaderDecoder, HeaderEncoder } from '../../../src/base/spdy/header-block.ts'
import { inPieces } from '../engine/pieces.ts'
import { attempt, type FuzzTarget } from '../engine/target.ts'

const NAME_BYTES = 10

/** SPDY/3.1 frames of exec and port-forward, and the header blocks in them. */
export const target: FuzzTarget = {
  steps: { fixed: 20_000, perByte: 200 },
  dictionary: [
    '\x80\x03\0\x01',
    '\x80\x03\0\x02',
    '\x80\x03\0\x04',
    '\0\0\0\x01\x01\0\0\x03abc',
    '\x78\x01',
    '\x78\xbb',
    '\0\0\0\xff\xff',
  ],
  run(input) {
    const whole = framesOf([input])
    assert.deepStrictEqual(framesOf(inPieces(input)), whole)
    return { whole, headers: headersOf(whole.controls) }
  },
}

function framesOf(chunks: readonly Buffer[]) {
  const controls: [type: number, flags: number, body: Buffer][] = []
  const streams = new Map<number, { text: string; ends: number }>()
  const reader = new FrameReader({
    control: (type, flags, body) => controls.push([type, flags, Buffer.from(body)]),
    data(streamId, part, isLast) {
      const { text = '', ends = 0 } = streams.get(streamId) ?? {}
      streams.set(streamId, { text: text + part.toString('latin1'), ends: ends + Number(isLast) })
    },
  })
  const end = attempt(() => {
    for (const chunk of chunks) reader.push(chunk)
  }, SpdyProtocolError)
  return { controls, streams: [...streams], end }
}

/** Bad blocks are RangeErrors, or errors of zlib: both end the connection. */
function headersOf(controls: readonly [type: number, flags: number, body: Buffer][]): unknown {
  const decoder = new HeaderDecoder()
  return controls.map(([, , body]) => {
    const headers = attempt(() => decoder.decode(body.subarray(NAME_BYTES)), Error)
    if (!('value' in headers)) return headers
    assert.strictEqual(Object.getPrototypeOf(headers.value), Object.prototype)
    const again = new HeaderDecoder().decode(new HeaderEncoder().encode(headers.value))
    assert.deepStrictEqual(again, headers.value)
    return headers
  })
}
