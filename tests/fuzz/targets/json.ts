import assert from 'node:assert'
import { isUtf8 } from 'node:buffer'
import { ApiError } from '../../../src/api/meta/api-error.ts'
import { decodeJson } from '../../../src/api/schema/decode.ts'
import { readJson } from '../../../src/api/schema/json-reader.ts'
import { countKeys } from '../../../src/api/schema/json-scan.ts'
import { attempt, type FuzzTarget } from '../engine/target.ts'

/** Request bodies. JSON.parse says what is JSON. */
export const target: FuzzTarget = {
  steps: { fixed: 3000, perByte: 300 },
  dictionary: [
    '{"',
    '":',
    '",',
    '[]',
    '{}',
    '\\u',
    '\\ud83d\\ude00',
    '\\ud800',
    'null',
    'true',
    '1e9',
    '-0.0',
    '"__proto__":',
  ],
  run(input) {
    const outcome = attempt(() => decodeJson(input), ApiError)
    const text = input.toString()
    const parsed = attempt(() => JSON.parse(text) as unknown, SyntaxError)
    if (!isUtf8(input)) assert('error' in outcome, 'bytes that are no UTF-8 were accepted')
    else assert.strictEqual(readJson(text) === undefined, 'value' in parsed)
    if (!('value' in outcome)) return outcome
    const { value, keys } = outcome.value
    // Compared as text, since JSON has no negative zero of its own.
    assert.strictEqual(JSON.stringify(JSON.parse(JSON.stringify(value))), JSON.stringify(value))
    if (typeof value === 'object' && value !== null) assert(keys >= countKeys(value), 'keys were lost')
    return outcome
  },
}
