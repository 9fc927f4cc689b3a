import assert from 'node:assert'
import { TarReader } from '../../../src/container-runtime/images/unpack/tar-reader.ts'
import { RuntimeError } from '../../../src/container-runtime/runtime.ts'
import { inPieces } from '../engine/pieces.ts'
import { attempt, type FuzzTarget } from '../engine/target.ts'

const BLOCK = 512
const HEADER_LIMIT = 64 * 1024
const CHECKSUM = { start: 148, end: 156 }

/** Layers of images. Checksums are made right first, since nearly no change of a header would get past them. */
export const target: FuzzTarget = {
  steps: { fixed: 20_000, perByte: 100 },
  maxBytes: 16 * BLOCK,
  dictionary: [
    'ustar\0',
    'ustar  ',
    '25 path=a\n',
    '12 size=9\n',
    'SCHILY.xattr.user.a=',
    '\x80\0\0\0',
    '\xff',
    '0000644',
  ],
  run(input) {
    const layer = withChecksums(input)
    const whole = eventsOf([layer])
    assert.deepStrictEqual(eventsOf(inPieces(layer)), whole)
    assert(whole.dataBytes <= layer.length, 'there is more data than input')
    return whole
  },
}

function withChecksums(input: Buffer): Buffer {
  const layer = Buffer.from(input)
  for (let at = 0; at + BLOCK <= layer.length; at += BLOCK) {
    const block = layer.subarray(at, at + BLOCK)
    // Blocks of data stay as they are: only what begins like a header is meant as one.
    if (block[0] === 0 || block.toString('latin1', 257, 262) !== 'ustar') continue
    block.fill(0x20, CHECKSUM.start, CHECKSUM.end)
    const sum = block.reduce((total, byte) => total + byte, 0)
    block.write(`${sum.toString(8).padStart(6, '0')}\0 `, CHECKSUM.start, 'latin1')
  }
  return layer
}

function eventsOf(chunks: readonly Buffer[]) {
  const entries: unknown[] = []
  let dataBytes = 0
  let isInEntry = false
  const reader = new TarReader(HEADER_LIMIT)
  const read = () => {
    for (let event = reader.next(); event; event = reader.next()) {
      if (event.type === 'data') dataBytes += event.bytes.length
      if (event.type === 'entry') entries.push(event.entry)
      assert(isInEntry === (event.type !== 'entry'), 'an entry begins before the last one ends')
      isInEntry = event.type !== 'end'
    }
  }
  const end = attempt(() => {
    for (const chunk of chunks) {
      reader.push(chunk)
      read()
    }
    reader.finish()
  }, RuntimeError)
  return { entries, dataBytes, end }
}
