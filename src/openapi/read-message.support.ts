import { WIRE, WireReader } from '../protobuf/wire-reader.ts'

/** A message read by field number, for tests that look into what `DocumentWriter` wrote. */
export interface ReadMessage {
  text(field: number): string
  message(field: number): ReadMessage
  messages(field: number): ReadMessage[]
}

export function readMessage(bytes: Buffer): ReadMessage {
  const fields = new Map<number, Buffer[]>()
  const reader = new WireReader(bytes)
  while (reader.at < bytes.length) {
    const tag = reader.size()
    if ((tag & 7) !== WIRE.bytes) reader.skip(tag & 7, bytes.length)
    else fields.set(tag >>> 3, [...(fields.get(tag >>> 3) ?? []), reader.bytes(bytes.length)])
  }
  return {
    text: (field) => String(fields.get(field)?.[0] ?? ''),
    message: (field) => readMessage(fields.get(field)?.[0] ?? Buffer.alloc(0)),
    messages: (field) => (fields.get(field) ?? []).map(readMessage),
  }
}
