/** A message read by field number, so that tests can look into what `ProtobufWriter` wrote. */
export interface ReadMessage {
  text(field: number): string
  message(field: number): ReadMessage
  messages(field: number): ReadMessage[]
}

export function readMessage(bytes: Buffer): ReadMessage {
  const fields = new Map<number, Buffer[]>()
  let at = 0
  const varint = () => {
    let value = 0
    for (let scale = 1; ; scale *= 0x80) {
      const byte = bytes[at++]!
      value += (byte & 0x7f) * scale
      if (byte < 0x80) return value
    }
  }
  while (at < bytes.length) {
    const tag = varint()
    const wireType = tag % 8
    if (wireType === 0) varint()
    else {
      const length = wireType === 1 ? 8 : varint()
      const field = Math.floor(tag / 8)
      fields.set(field, [...(fields.get(field) ?? []), bytes.subarray(at, at + length)])
      at += length
    }
  }
  return {
    text: (field) => String(fields.get(field)?.[0] ?? ''),
    message: (field) => readMessage(fields.get(field)?.[0] ?? Buffer.alloc(0)),
    messages: (field) => (fields.get(field) ?? []).map(readMessage),
  }
}
