import { WIRE, WireError, WireReader } from './wire-reader.ts'
import { WireWriter } from './wire-writer.ts'

/** Messages of gRPC APIs (etcd, CRI). A message is a table of its fields. */

type Scalar = 'bytes' | 'string' | 'int64' | 'bigint' | 'bool'

export interface Field<T> {
  readonly number: number
  readonly type: Scalar | MessageType<unknown>
  readonly form: 'one' | 'many' | 'map'
  /** Only for the type checker: what the field holds. */
  readonly holds?: T
}

type Holds<F> = F extends Field<infer T> ? T : never

export const bytes = (number: number): Field<Buffer> => ({ number, type: 'bytes', form: 'one' })
export const text = (number: number): Field<string> => ({ number, type: 'string', form: 'one' })
/** A number between -2^53 and 2^53: a revision, a size, an enum. */
export const integer = (number: number): Field<number> => ({ number, type: 'int64', form: 'one' })
/** A number of 64 bits, such as a time in nanoseconds. */
export const bigInteger = (number: number): Field<bigint> => ({ number, type: 'bigint', form: 'one' })
export const bool = (number: number): Field<boolean> => ({ number, type: 'bool', form: 'one' })
export const one = <T>(number: number, type: MessageType<T>): Field<T> => ({ number, type, form: 'one' })
export const many = <T>(number: number, type: MessageType<T>): Field<readonly T[]> => ({ number, type, form: 'many' })
export const texts = (number: number): Field<readonly string[]> => ({ number, type: 'string', form: 'many' })
export const integers = (number: number): Field<readonly number[]> => ({ number, type: 'int64', form: 'many' })
export const textMap = (number: number): Field<Readonly<Record<string, string>>> => ({
  number,
  type: TextEntry,
  form: 'map',
})
export const bytesMap = (number: number): Field<Readonly<Record<string, Buffer>>> => ({
  number,
  type: BytesEntry,
  form: 'map',
})

export type FieldTable = Record<string, Field<unknown>>
export type MessageOf<F extends FieldTable> = { readonly [K in keyof F]?: Holds<F[K]> }

export interface MessageType<T> {
  readonly fields: FieldTable
  encode(message: T): Buffer
  /** Throws a WireError for bytes that are not a message. */
  decode(buffer: Buffer): T
  write(writer: WireWriter, message: T): void
  read(reader: WireReader, end: number): T
}

export function message<F extends FieldTable>(fields: F): MessageType<MessageOf<F>> {
  const byNumber = new Map(Object.entries(fields).map(([name, field]) => [field.number, { name, field }]))
  const backwards = Object.entries(fields).reverse()
  const type: MessageType<MessageOf<F>> = {
    fields,
    encode(value) {
      const writer = new WireWriter(INITIAL_CAPACITY)
      type.write(writer, value)
      return writer.take()
    },
    decode: (buffer) => type.read(new WireReader(buffer), buffer.length),
    write(writer, value) {
      for (const [name, field] of backwards) {
        const held = value[name] as unknown
        if (held !== undefined) writeField(writer, field, held)
      }
    },
    read(reader, end) {
      const result: Record<string, unknown> = {}
      while (reader.at < end) {
        const tag = reader.size()
        const known = byNumber.get(tag >>> 3)
        if (known) readField(reader, end, known.field, tag & 7, result, known.name)
        else reader.skip(tag & 7, end)
      }
      if (reader.at > end) throw new WireError('unexpected EOF')
      return result as MessageOf<F>
    },
  }
  return type
}

const INITIAL_CAPACITY = 256

type Entry = { readonly key?: string; readonly value?: string | Buffer }
const TextEntry = message({ key: text(1), value: text(2) })
const BytesEntry = message({ key: text(1), value: bytes(2) })

const isNumber = (type: Field<unknown>['type']) => type === 'int64' || type === 'bigint' || type === 'bool'

function readField(
  reader: WireReader,
  end: number,
  field: Field<unknown>,
  wireType: number,
  result: Record<string, unknown>,
  name: string,
): void {
  const { type, form } = field
  const isPacked = form === 'many' && isNumber(type) && wireType === WIRE.bytes
  if (!isPacked && wireType !== (isNumber(type) ? WIRE.varint : WIRE.bytes)) reader.skip(wireType, end)
  else if (form === 'one') result[name] = readValue(reader, end, type)
  else if (form === 'map') {
    const empty = type === BytesEntry ? Buffer.alloc(0) : ''
    const { key = '', value = empty } = readValue(reader, end, type) as Entry
    result[name] ??= {}
    Object.defineProperty(result[name], key, { value, enumerable: true, configurable: true, writable: true })
  } else {
    result[name] ??= []
    const list = result[name] as unknown[]
    const stop = isPacked ? reader.endOfBytes(end) : undefined
    if (stop === undefined) list.push(readValue(reader, end, type))
    else while (reader.at < stop) list.push(readValue(reader, stop, type))
  }
}

function readValue(reader: WireReader, end: number, type: Field<unknown>['type']): unknown {
  if (type === 'int64') return reader.int()
  if (type === 'bigint') return reader.bigint()
  if (type === 'bool') return reader.int() !== 0
  if (type === 'bytes') return reader.bytes(end)
  if (type === 'string') return reader.text(end)
  return type.read(reader, reader.endOfBytes(end))
}

function writeField(writer: WireWriter, { number, type, form }: Field<unknown>, value: unknown): void {
  if (form === 'one') writeValue(writer, number, type, value)
  else if (form === 'map')
    for (const [key, held] of Object.entries(value as object).reverse())
      writeValue(writer, number, type, { key, value: held })
  else if (type === 'int64') writePacked(writer, number, value as readonly number[])
  else for (const item of (value as readonly unknown[]).toReversed()) writeValue(writer, number, type, item)
}

function writePacked(writer: WireWriter, number: number, values: readonly number[]): void {
  if (values.length === 0) return
  const before = writer.written
  for (const value of values.toReversed()) writer.varint(value)
  writer.closeBytes(number, before)
}

function writeValue(writer: WireWriter, number: number, type: Field<unknown>['type'], value: unknown): void {
  if (type === 'int64' || type === 'bigint') writer.int(number, value as number | bigint)
  else if (type === 'bool') writer.int(number, value ? 1 : 0)
  else if (type === 'bytes') writer.bytes(number, value as Buffer)
  else if (type === 'string') writer.text(number, String(value))
  else {
    const before = writer.written
    type.write(writer, value)
    writer.closeBytes(number, before)
  }
}
