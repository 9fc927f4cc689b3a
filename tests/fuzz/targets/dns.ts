import assert from 'node:assert'
import { decodeQuery, decodeReply } from '../../../src/cluster-dns/wire/decode.ts'
import { encodeQuery, encodeReply } from '../../../src/cluster-dns/wire/encode.ts'
import { MalformedMessage } from '../../../src/cluster-dns/wire/message.ts'
import { attempt, type FuzzTarget } from '../engine/target.ts'

const LARGEST = 65_535

/** Queries of clients and replies of upstream servers, RFC 1035. */
export const target: FuzzTarget = {
  steps: { fixed: 40_000, perByte: 400 },
  maxBytes: 1500,
  dictionary: [
    '\xc0\x0c',
    '\x03www\x07example\x03com\0',
    '\0\x01\0\x01',
    '\0\x1c\0\x01',
    '\0\0\x29\x10\0',
    '\0\x21\0\x01',
  ],
  run(input) {
    const query = attempt(() => decodeQuery(input), MalformedMessage)
    if ('value' in query) checkQuery(query.value)
    const reply = attempt(() => decodeReply(input), MalformedMessage)
    if ('value' in reply) checkReply(reply.value)
    return { query, reply }
  },
}

/** The same question is read from what a forwarder would send. */
function checkQuery(query: ReturnType<typeof decodeQuery>): void {
  const again = decodeQuery(encodeQuery(query))
  assert.deepStrictEqual(again.question, query.question)
  assert.deepStrictEqual(again.edns, query.edns)
}

/** The same records are read from what a server would pass on. */
function checkReply({ id, question, reply }: ReturnType<typeof decodeReply>): void {
  if (!question) return
  const query = { id, question, asked: question.name, recursionDesired: true, checkingDisabled: false, edns: undefined }
  const again = decodeReply(encodeReply(query, reply, { maxSize: LARGEST }))
  assert.deepStrictEqual(again.question, question)
  if (again.truncated) return
  assert.deepStrictEqual(again.reply.answers, reply.answers)
  assert.deepStrictEqual(again.reply.authority, reply.authority)
}
