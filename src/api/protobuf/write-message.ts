import type { WireWriter } from '../../protobuf/wire-writer.ts'
import { type Field, type Message, TYPE } from './messages.ts'

type Values = Readonly<Record<string, unknown>>

/** Writes the fields of an object that the message has. What is not there needs no bytes: zero is what readers assume. */
export function writeMessage(writer: WireWriter, message: Message, values: Values): void {
  const { byName, inlined } = message
  for (const name in values) {
    const field = byName.get(name)
    const value = values[name]
    if (field !== undefined && value !== undefined && value !== null) writeField(writer, field, value)
  }
  for (const field of inlined) {
    const before = writer.written
    writeMessage(writer, field.message!, values)
    if (writer.written > before) writer.closeBytes(field.number, before)
  }
}

function writeField(writer: WireWriter, field: Field, value: unknown): void {
  if (field.isList) {
    const items = value as readonly unknown[]
    for (let i = items.length - 1; i >= 0; i--) writeValue(writer, field, field.number, items[i])
  } else if (field.isMap) writeMap(writer, field, value as Values)
  else writeValue(writer, field, field.number, value)
}

/** Each entry is a message of a key and a value. */
function writeMap(writer: WireWriter, field: Field, map: Values): void {
  for (const key in map) {
    const before = writer.written
    if (map[key] !== null) writeValue(writer, field, 2, map[key])
    writer.text(1, key)
    writer.closeBytes(field.number, before)
  }
}

function writeValue(writer: WireWriter, field: Field, number: number, value: unknown): void {
  switch (field.type) {
    case TYPE.string:
      writer.text(number, value as string)
      break
    case TYPE.bool:
      writer.int(number, value ? 1 : 0)
      break
    case TYPE.int:
      writer.int(number, value as number)
      break
    case TYPE.double:
      writer.double(number, value as number)
      break
    case TYPE.bytes:
      writer.bytes(number, Buffer.from(value as string, 'base64'))
      break
    case TYPE.json:
      writer.bytes(number, Buffer.from(JSON.stringify(value ?? null)))
      break
    default:
      writeMessageValue(writer, field, number, value)
  }
}

function writeMessageValue(writer: WireWriter, field: Field, number: number, value: unknown): void {
  const before = writer.written
  const { special } = field
  if (special) writeMessage(writer, field.message!, special.toMessage(value))
  else if (value !== null) writeMessage(writer, field.message!, value as Values)
  writer.closeBytes(number, before)
}
