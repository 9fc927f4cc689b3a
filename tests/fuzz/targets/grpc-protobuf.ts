import assert from 'node:assert'
import { WireError } from '../../../src/protobuf/wire-reader.ts'
import { RangeResponse, TxnResponse, WatchResponse } from '../../../src/store/etcd/messages.ts'
import { attempt, type FuzzTarget } from '../engine/target.ts'

/** Answers of etcd. */
export const target: FuzzTarget = {
  steps: { fixed: 3000, perByte: 200 },
  dictionary: [
    '\x0a\x02\x18\x05',
    '\x12\x0a\x0a\x03key',
    '\x5a\x04\x08\x01\x12\x00',
    '\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01',
  ],
  run: (input) =>
    [RangeResponse, TxnResponse, WatchResponse].map((type) => {
      const outcome = attempt(() => type.decode(input) as object, WireError)
      if ('value' in outcome) {
        const again = type.decode(type.encode(outcome.value)) as object
        assert.deepStrictEqual(type.decode(type.encode(again)), again)
      }
      return outcome
    }),
}
