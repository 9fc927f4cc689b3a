import assert from 'node:assert'
import { ApiError } from '../../../src/api/meta/api-error.ts'
import { decodeProtobuf } from '../../../src/api/protobuf/decode.ts'
import { encodeObject } from '../../../src/api/protobuf/encode.ts'
import { attempt, type FuzzTarget } from '../engine/target.ts'

const EXPECTED = { apiVersion: 'v1', kind: 'Pod' }

/** Request bodies in protobuf: `k8s\0` and a runtime.Unknown with an object in it. */
export const target: FuzzTarget = {
  steps: { fixed: 20_000, perByte: 1000 },
  dictionary: [
    'k8s\0',
    '\x0a\x09\x0a\x02v1\x12\x03Pod',
    '\x0a\x0f\x0a\x07apps/v1\x12\x0aDeployment',
    '\x0a\x0d\x0a\x02v1\x12\x07Service',
    '\x12\x00',
    '\x0a\x03web',
    '\xff\xff\xff\xff\x0f',
    '\x80\x01',
  ],
  run(input) {
    const outcome = attempt(() => decodeProtobuf(input, EXPECTED).value as object, ApiError)
    if ('error' in outcome) return outcome
    const once = decodeProtobuf(encodeObject(outcome.value), EXPECTED).value as object
    const twice = decodeProtobuf(encodeObject(once), EXPECTED).value
    assert.deepStrictEqual(twice, once, 'what was written is not what is read')
    return outcome
  },
}
