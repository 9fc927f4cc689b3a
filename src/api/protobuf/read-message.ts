import { WIRE, WireError, type WireReader } from '../../protobuf/wire-reader.ts'
import { decodeText, refuseHeavy } from '../schema/decode.ts'
import { KEY_WEIGHT, MANY_KEYS, scanJson, weighJson } from '../schema/json-scan.ts'
import { type Field, type Message, TYPE } from './messages.ts'

/** Counts what was read: a protobuf body may not make more work than a JSON body. */
function count(reader: WireReader, weight: number): void {
  reader.weight += weight
  refuseHeavy(reader.weight)
}

const countMapEntry = (reader: WireReader) => count(reader, ++reader.mapEntries > MANY_KEYS ? KEY_WEIGHT : 1)

export type Draft = Record<string, unknown>

/** Messages deeper than this are only sent to exhaust a reader. */
const MAXIMUM_DEPTH = 1000

/** Reads a message that ends at `end` into the object that JSON would have had. */
export function readMessage(reader: WireReader, end: number, message: Message, draft: Draft, depth: number): void {
  if (depth > MAXIMUM_DEPTH) throw new WireError('exceeded max depth')
  const { fields } = message
  while (reader.at < end) {
    count(reader, 1)
    const tag = reader.size()
    const wireType = tag & 7
    const number = tag >>> 3
    if (number === 0) throw new WireError('proto: illegal tag 0')
    const field = number < fields.length ? fields[number] : undefined
    if (field === undefined) reader.skip(wireType, end)
    else if (field.isList) readItems(reader, end, field, wireType, draft, depth)
    else if (field.isMap) readEntry(reader, end, field, wireType, draft, depth)
    else readField(reader, end, field, wireType, draft, depth)
  }
  if (reader.at > end) throw new WireError('unexpected EOF')
}

function readField(r: WireReader, end: number, field: Field, wireType: number, draft: Draft, depth: number): void {
  const { name, type } = field
  if (type === TYPE.message) {
    // A message may come in pieces; an inlined one is a piece of the draft itself.
    const target = name === '' ? draft : ((draft[name] as Draft | undefined) ?? {})
    checkWireType(field, wireType, WIRE.bytes)
    readMessage(r, r.endOfBytes(end), field.message!, target, depth + 1)
    if (name !== '' && !(field.dropZero && isEmpty(target))) draft[name] = target
    return
  }
  const value = readValue(r, end, field, wireType, depth)
  if (value !== undefined && !(field.dropZero && isZero(value))) draft[name] = value
  else if (draft[name] !== undefined) delete draft[name]
}

function isEmpty(object: Draft): boolean {
  for (const _ in object) return false
  return true
}

const isZero = (value: unknown) => value === '' || value === 0 || value === false

function readItems(r: WireReader, end: number, field: Field, wireType: number, draft: Draft, depth: number): void {
  let items = draft[field.name] as unknown[] | undefined
  if (items === undefined) {
    items = []
    draft[field.name] = items
  }
  if (wireType !== WIRE.bytes || !isPackable(field)) {
    items.push(readValue(r, end, field, wireType, depth) ?? null)
    return
  }
  const itemWireType = field.type === TYPE.double ? WIRE.fixed64 : WIRE.varint
  for (const stop = r.endOfBytes(end); r.at < stop; ) {
    count(r, 1)
    items.push(readValue(r, stop, field, itemWireType, depth))
  }
}

/** Numbers may come one by one, or many behind one length. */
const isPackable = ({ type }: Field) => type === TYPE.int || type === TYPE.bool || type === TYPE.double

/** An entry of a map is a message of a key and a value; either may be left out. */
function readEntry(r: WireReader, end: number, field: Field, wireType: number, draft: Draft, depth: number): void {
  checkWireType(field, wireType, WIRE.bytes)
  let map = draft[field.name] as Draft | undefined
  if (map === undefined) {
    map = {}
    draft[field.name] = map
  }
  countMapEntry(r)
  const stop = r.endOfBytes(end)
  let key = ''
  let value: unknown
  while (r.at < stop) {
    count(r, 1)
    const tag = r.size()
    if (tag === KEY_TAG) key = r.text(stop)
    else if (tag >>> 3 === 2) value = readValue(r, stop, field, tag & 7, depth)
    else r.skip(tag & 7, stop)
  }
  value ??= zeroOf(field)
  // The one name that assignment would not make a field of.
  if (key === '__proto__')
    Object.defineProperty(map, key, { value, enumerable: true, writable: true, configurable: true })
  else map[key] = value
}

const KEY_TAG = 0x0a

function zeroOf({ type, special }: Field): unknown {
  switch (type) {
    case TYPE.bool:
      return false
    case TYPE.int:
    case TYPE.double:
      return 0
    case TYPE.message:
      return {}
    case TYPE.special:
      return special!.fromMessage({}) ?? null
    default:
      return ''
  }
}

function readValue(r: WireReader, end: number, field: Field, wireType: number, depth: number): unknown {
  switch (field.type) {
    case TYPE.string:
      checkWireType(field, wireType, WIRE.bytes)
      return r.text(end)
    case TYPE.bool:
      checkWireType(field, wireType, WIRE.varint)
      return r.int() !== 0
    case TYPE.int:
      checkWireType(field, wireType, WIRE.varint)
      return r.int()
    case TYPE.double:
      checkWireType(field, wireType, WIRE.fixed64)
      return r.double()
    case TYPE.bytes:
      checkWireType(field, wireType, WIRE.bytes)
      return r.bytes(end).toString('base64')
    case TYPE.json:
      checkWireType(field, wireType, WIRE.bytes)
      return readJson(r, r.bytes(end))
    default:
      return readMessageValue(r, end, field, wireType, depth)
  }
}

function readMessageValue(r: WireReader, end: number, field: Field, wireType: number, depth: number): unknown {
  checkWireType(field, wireType, WIRE.bytes)
  const draft: Draft = {}
  readMessage(r, r.endOfBytes(end), field.message!, draft, depth + 1)
  return field.special ? field.special.fromMessage(draft) : draft
}

/** Values of any shape travel as the text of their JSON. */
function readJson(r: WireReader, bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined
  const { depth } = scanJson(bytes)
  if (depth > MAXIMUM_DEPTH) throw new WireError('exceeded max depth')
  count(r, weighJson(bytes, depth))
  const text = decodeText(bytes)
  if (text === undefined) throw new WireError('invalid UTF-8 in the text of a raw value')
  try {
    return JSON.parse(text)
  } catch {
    throw new WireError('invalid JSON in a raw value')
  }
}

function checkWireType(field: Field, wireType: number, expected: number): void {
  if (wireType !== expected) throw new WireError(`proto: wrong wireType = ${wireType} for field ${field.name}`)
}
