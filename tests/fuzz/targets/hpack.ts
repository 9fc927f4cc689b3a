import assert from 'node:assert'
import { HeaderDecoder, HeadersTooLargeError, HpackError } from '../../../src/http2/header-decoder.ts'
import { answerHeaders } from '../../../src/http2/header-encoder.ts'
import { attempt, type FuzzTarget } from '../engine/target.ts'

const LIMITS = { tableBytes: 4096, listBytes: 16 * 1024 }
/** Names that the encoder writes as they are, and values that it does not clean. */
const NAME = /^[a-z][a-z0-9-]*$/
const VALUE = /^[!-~]([ -~]*[!-~])?$/
const HOP_BY_HOP = ['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade']

/** Header blocks of a connection: the first byte is how many bytes the first of two blocks has. */
export const target: FuzzTarget = {
  steps: { fixed: 3000, perByte: 60 },
  dictionary: ['\x82', '\x86', '\x84', '\xbe', '\x3f\xe1\x1f', '\x40', '\x10', '\x00', '\x8c\xf1\xe3\xc2'],
  run(input) {
    const decoder = new HeaderDecoder(LIMITS)
    const first = Math.min(input.length, 1 + (input[0] ?? 0))
    const blocks = [input.subarray(1, first), input.subarray(first)]
    return attempt(() => blocks.map((block) => checked(decoder.decode(block))), HpackError, HeadersTooLargeError)
  },
}

function checked(fields: string[]): string[] {
  assert(fields.length % 2 === 0)
  let size = 0
  for (const text of fields) size += Buffer.byteLength(text, 'latin1') + 16
  assert(size <= LIMITS.listBytes, 'a list is larger than its limit')
  checkRoundTrip(fields)
  return fields
}

/** What the encoder writes, the decoder reads back. */
function checkRoundTrip(fields: readonly string[]): void {
  const headers: Record<string, string> = {}
  for (let i = 0; i < fields.length; i += 2) {
    const [name = '', value = ''] = fields.slice(i, i + 2)
    if (NAME.test(name) && VALUE.test(value) && !HOP_BY_HOP.includes(name)) headers[name] = value
  }
  const block = Buffer.from(answerHeaders(200, headers))
  const expected = [':status', '200', ...Object.entries(headers).flat()]
  assert.deepStrictEqual(new HeaderDecoder({ ...LIMITS, listBytes: 1 << 20 }).decode(block), expected)
}
