import { WireError, WireReader } from '../../protobuf/wire-reader.ts'
import { badRequest } from '../meta/api-error.ts'
import type { DecodedBody } from '../schema/decode.ts'
import { MAGIC, readEnvelope } from './envelope.ts'
import { messageOfKind } from './messages.ts'
import { type Draft, readMessage } from './read-message.ts'

/** What a request is about; taken where the body does not say what it is. */
export interface ExpectedKind {
  readonly apiVersion: string
  readonly kind: string
}

/**
 * The object in a protobuf body, as the same client would have sent it in JSON: fields that Go writes to the wire
 * although nobody set them are left out. Throws a bad request if the bytes are no such object.
 */
export function decodeProtobuf(bytes: Buffer, expected: ExpectedKind): DecodedBody {
  if (!bytes.subarray(0, MAGIC.length).equals(MAGIC)) {
    throw badRequest(
      `the object provided is unrecognized (must be of type ${expected.kind}): provided data does not appear to be a protobuf message, expected prefix [${[...MAGIC].join(' ')}]`,
    )
  }
  try {
    return { value: decodeObject(bytes, expected), keys: -1, duplicates: [], text: '' }
  } catch (error) {
    if (!(error instanceof WireError)) throw error
    throw badRequest(`the body cannot be handled as a ${expected.kind}: ${error.message}`)
  }
}

function decodeObject(bytes: Buffer, expected: ExpectedKind): Draft {
  const envelope = readEnvelope(bytes)
  const apiVersion = envelope.apiVersion || expected.apiVersion
  const kind = envelope.kind || expected.kind
  const message = messageOfKind(apiVersion, kind)
  if (!message)
    throw new WireError(`no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)}`)
  const draft: Draft = { kind, apiVersion }
  readMessage(new WireReader(envelope.raw), envelope.raw.length, message, draft, 0)
  return draft
}
