/** As much of the protobuf wire format as gRPC APIs of others need; a message is a table of its fields. */

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
/** Whatever stays between -2^53 and 2^53: revisions and sizes; enums too. */
export const integer = (number: number): Field<number> => ({ number, type: 'int64', form: 'one' })
/** Times in nanoseconds and the like. */
export const bigInteger = (number: number): Field<bigint> => ({ number, type: 'bigint', form: 'one' })
export const bool = (number: number): Field<boolean> => ({ number, type: 'bool', form: 'one' })
export const one = <T>(number: number, type: MessageType<T>): Field<T> => ({ number, type, form: 'one' })
export const many = <T>(number: number, type: MessageType<T>): Field<readonly T[]> => ({ number, type, form: 'many' })
export const texts = (number: number): Field<readonly string[]> => ({ number, type: 'string', form: 'many' })
export const integers = (number: number): Field<readonly number[]> => ({ number, type: 'int64', form: 'many' })
export const textMap = (number: number): Field<Readonly<Record<string, string>>> => ({
  number,
  type: MapEntry,
  form: 'map',
})

export type FieldTable = Record<string, Field<unknown>>
export type MessageOf<F extends FieldTable> = { readonly [K in keyof F]?: Holds<F[K]> }

export interface MessageType<T> {
  readonly fields: FieldTable
  encode(message: T): Buffer
  decode(buffer: Buffer): T
}

export function message<F extends FieldTable>(fields: F): MessageType<MessageOf<F>> {
  const byNumber = new Map(Object.entries(fields).map(([name, field]) => [field.number, { name, field }]))
  return {
    fields,
    encode(value) {
      const writer = new Writer()
      for (const name in fields) {
        const held = value[name] as unknown
        if (held !== undefined) writer.field(fields[name]!, held)
      }
      return writer.finish()
    },
    decode(buffer) {
      const result: Record<string, unknown> = {}
      const reader = new Reader(buffer)
      while (!reader.done) {
        const tag = reader.varint()
        const known = byNumber.get(Math.floor(tag / 8))
        if (known) take(result, known.name, known.field, reader, tag % 8)
        else reader.skip(tag % 8)
      }
      return result as MessageOf<F>
    },
  }
}

type Entry = { readonly key?: string; readonly value?: string }
const MapEntry: MessageType<Entry> = message({ key: text(1), value: text(2) })

const LENGTH_DELIMITED = 2

function take(
  result: Record<string, unknown>,
  name: string,
  field: Field<unknown>,
  reader: Reader,
  wireType: number,
): void {
  if (field.form === 'one') {
    result[name] = reader.value(field.type)
  } else if (field.form === 'map') {
    const { key = '', value = '' } = reader.value(field.type) as Entry
    result[name] ??= {}
    const map = result[name] as Record<string, string>
    Object.defineProperty(map, key, { value, enumerable: true, configurable: true, writable: true })
  } else {
    result[name] ??= []
    const list = result[name] as unknown[]
    const isPacked = wireType === LENGTH_DELIMITED && (field.type === 'int64' || field.type === 'bigint')
    if (isPacked) list.push(...reader.packed(field.type))
    else list.push(reader.value(field.type))
  }
}

class Writer {
  readonly #parts: Buffer[] = []
  #length = 0

  field({ number, type, form }: Field<unknown>, value: unknown): void {
    if (form === 'one') this.#item(number, type, value)
    else if (form === 'map')
      for (const [key, held] of Object.entries(value as object)) this.#item(number, type, { key, value: held })
    else if (type === 'int64') this.#packed(number, value as readonly number[])
    else for (const item of value as readonly unknown[]) this.#item(number, type, item)
  }

  finish(): Buffer {
    return Buffer.concat(this.#parts, this.#length)
  }

  #packed(number: number, values: readonly number[]): void {
    if (values.length === 0) return
    const content = Buffer.concat(values.map(varint))
    this.#push(varint(number * 8 + LENGTH_DELIMITED), varint(content.length), content)
  }

  #item(number: number, type: Field<unknown>['type'], value: unknown): void {
    if (type === 'int64' || type === 'bigint') this.#push(varint(number * 8), varint(value as number | bigint))
    else if (type === 'bool') this.#push(varint(number * 8), varint(value ? 1 : 0))
    else {
      const content =
        type === 'bytes' ? (value as Buffer) : type === 'string' ? Buffer.from(String(value)) : type.encode(value)
      this.#push(varint(number * 8 + LENGTH_DELIMITED), varint(content.length), content)
    }
  }

  #push(...parts: Buffer[]): void {
    for (const part of parts) {
      this.#parts.push(part)
      this.#length += part.length
    }
  }
}

function varint(value: number | bigint): Buffer {
  if (typeof value === 'bigint' || value < 0) return longVarint(BigInt.asUintN(64, BigInt(value)))
  const digits: number[] = []
  let rest = value
  while (rest >= 128) {
    digits.push((rest % 128) + 128)
    rest = Math.floor(rest / 128)
  }
  digits.push(rest)
  return Buffer.from(digits)
}

/** A negative number is written as its two's complement, in ten bytes. */
function longVarint(value: bigint): Buffer {
  const digits: number[] = []
  let rest = value
  while (rest >= 128n) {
    digits.push(Number(rest & 127n) + 128)
    rest >>= 7n
  }
  digits.push(Number(rest))
  return Buffer.from(digits)
}

class Reader {
  readonly #buffer: Buffer
  #at = 0

  constructor(buffer: Buffer) {
    this.#buffer = buffer
  }

  get done(): boolean {
    return this.#at >= this.#buffer.length
  }

  varint(): number {
    let value = 0
    let factor = 1
    for (let i = 0; i < 7; i++, factor *= 128) {
      const byte = this.#buffer.readUInt8(this.#at++)
      value += (byte & 127) * factor
      if (byte < 128) return value
    }
    return Number(this.#longVarint(BigInt(value), 49n))
  }

  /** More than 49 bits: a huge number or, in ten bytes, a negative one. */
  #longVarint(low: bigint, from: bigint): bigint {
    let value = low
    for (let shift = from; shift < 70n; shift += 7n) {
      const byte = this.#buffer.readUInt8(this.#at++)
      value |= BigInt(byte & 127) << shift
      if (byte < 128) return BigInt.asIntN(64, value)
    }
    throw new RangeError('a number has more than ten bytes')
  }

  value(type: Field<unknown>['type']): unknown {
    if (type === 'bigint') return this.#longVarint(0n, 0n)
    if (type === 'int64') return this.varint()
    if (type === 'bool') return this.varint() !== 0
    const content = this.#content()
    if (type === 'bytes') return content
    return type === 'string' ? content.toString() : type.decode(content)
  }

  packed(type: Field<unknown>['type']): unknown[] {
    const inside = new Reader(this.#content())
    const values: unknown[] = []
    while (!inside.done) values.push(inside.value(type))
    return values
  }

  #content(): Buffer {
    const length = this.varint()
    const start = this.#at
    this.#forward(length)
    return this.#buffer.subarray(start, this.#at)
  }

  /** Never back: a negative length would read the same bytes for ever. */
  #forward(length: number): void {
    if (length < 0 || this.#at + length > this.#buffer.length) throw new RangeError('a message is cut off')
    this.#at += length
  }

  skip(wireType: number): void {
    if (wireType === 0) this.varint()
    else if (wireType === 1) this.#forward(8)
    else if (wireType === 2) this.#content()
    else if (wireType === 5) this.#forward(4)
    else throw new RangeError(`unknown wire type ${wireType}`)
  }
}
