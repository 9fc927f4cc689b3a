import { WIRE, WireError, WireReader } from '../../protobuf/wire-reader.ts'

/** Stands in front of every object, so that protobuf can be told from JSON. */
export const MAGIC = Buffer.from('k8s\0')

/** `runtime.Unknown`: says what the bytes in it are. */
export interface Envelope {
  readonly apiVersion: string
  readonly kind: string
  readonly raw: Buffer
}

const FIELD = { typeMeta: 1, raw: 2, contentEncoding: 3, contentType: 4 }

export function readEnvelope(bytes: Buffer): Envelope {
  const reader = new WireReader(bytes)
  reader.at = MAGIC.length
  let type = { apiVersion: '', kind: '' }
  let raw = Buffer.alloc(0)
  while (reader.at < bytes.length) {
    const tag = reader.size()
    const number = tag >>> 3
    if ((tag & 7) !== WIRE.bytes) reader.skip(tag & 7, bytes.length)
    else if (number === FIELD.typeMeta) type = readTypeMeta(reader.bytes(bytes.length))
    else if (number === FIELD.raw) raw = reader.bytes(bytes.length) as typeof raw
    else if (number === FIELD.contentEncoding || number === FIELD.contentType) refuseOther(reader.text(bytes.length))
    else reader.skip(WIRE.bytes, bytes.length)
  }
  return { ...type, raw }
}

function readTypeMeta(bytes: Buffer): { apiVersion: string; kind: string } {
  const reader = new WireReader(bytes)
  const texts = ['', '', '']
  while (reader.at < bytes.length) {
    const tag = reader.size()
    const number = tag >>> 3
    if ((tag & 7) === WIRE.bytes && (number === 1 || number === 2)) texts[number] = reader.text(bytes.length)
    else reader.skip(tag & 7, bytes.length)
  }
  return { apiVersion: texts[1]!, kind: texts[2]! }
}

/** Compressed or foreign content could be announced here; no client does. */
function refuseOther(content: string): void {
  if (content !== '' && content !== 'application/vnd.kubernetes.protobuf')
    throw new WireError(`the content ${JSON.stringify(content)} is not supported`)
}
