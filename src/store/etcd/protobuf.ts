/** As much of the protobuf wire format as etcd's API needs; a message is a table of its fields. */

type Scalar = 'bytes' | 'string' | 'int64' | 'bool'

export interface Field<T> {
  readonly number: number
  readonly type: Scalar | MessageType<unknown>
  readonly repeated: boolean
  /** Only for the type checker: what the field holds. */
  readonly holds?: T
}

type Holds<F> = F extends Field<infer T> ? T : never

export const bytes = (number: number): Field<Buffer> => ({ number, type: 'bytes', repeated: false })
export const text = (number: number): Field<string> => ({ number, type: 'string', repeated: false })
/** Revisions and the like, which stay below 2^53; enums too. */
export const integer = (number: number): Field<number> => ({ number, type: 'int64', repeated: false })
export const bool = (number: number): Field<boolean> => ({ number, type: 'bool', repeated: false })
export const one = <T>(number: number, type: MessageType<T>): Field<T> => ({ number, type, repeated: false })
export const many = <T>(number: number, type: MessageType<T>): Field<readonly T[]> => ({ number, type, repeated: true })

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
        const field = fields[name]!
        const held = value[name] as unknown
        if (held === undefined) continue
        if (field.repeated) for (const item of held as readonly unknown[]) writer.field(field, item)
        else writer.field(field, held)
      }
      return writer.finish()
    },
    decode(buffer) {
      const result: Record<string, unknown> = {}
      const reader = new Reader(buffer)
      while (!reader.done) {
        const tag = reader.varint()
        const known = byNumber.get(Math.floor(tag / 8))
        if (!known) {
          reader.skip(tag % 8)
          continue
        }
        const { name, field } = known
        const item = reader.value(field)
        if (!field.repeated) result[name] = item
        else if (result[name]) (result[name] as unknown[]).push(item)
        else result[name] = [item]
      }
      return result as MessageOf<F>
    },
  }
}

class Writer {
  readonly #parts: Buffer[] = []
  #length = 0

  field(field: Field<unknown>, value: unknown): void {
    const { number, type } = field
    if (type === 'int64') this.#push(varint(number * 8), varint(value as number))
    else if (type === 'bool') this.#push(varint(number * 8), varint(value ? 1 : 0))
    else {
      const content =
        type === 'bytes' ? (value as Buffer) : type === 'string' ? Buffer.from(String(value)) : type.encode(value)
      this.#push(varint(number * 8 + 2), varint(content.length), content)
    }
  }

  finish(): Buffer {
    return Buffer.concat(this.#parts, this.#length)
  }

  #push(...parts: Buffer[]): void {
    for (const part of parts) {
      this.#parts.push(part)
      this.#length += part.length
    }
  }
}

function varint(value: number): Buffer {
  const digits: number[] = []
  let rest = value
  while (rest >= 128) {
    digits.push((rest % 128) + 128)
    rest = Math.floor(rest / 128)
  }
  digits.push(rest)
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
    return this.#longVarint(BigInt(value))
  }

  /** More than 49 bits: a huge number or, in ten bytes, a negative one. */
  #longVarint(low: bigint): number {
    let value = low
    for (let shift = 49n; ; shift += 7n) {
      const byte = this.#buffer.readUInt8(this.#at++)
      value |= BigInt(byte & 127) << shift
      if (byte < 128) return Number(BigInt.asIntN(64, value))
    }
  }

  value({ type }: Field<unknown>): unknown {
    const first = this.varint()
    if (type === 'int64') return first
    if (type === 'bool') return first !== 0
    if (this.#at + first > this.#buffer.length) throw new RangeError('a message is cut off')
    const content = this.#buffer.subarray(this.#at, this.#at + first)
    this.#at += first
    if (type === 'bytes') return content
    return type === 'string' ? content.toString() : type.decode(content)
  }

  skip(wireType: number): void {
    if (wireType === 0) this.varint()
    else if (wireType === 1) this.#at += 8
    else if (wireType === 2) {
      const length = this.varint()
      this.#at += length
    } else if (wireType === 5) this.#at += 4
    else throw new RangeError(`unknown wire type ${wireType}`)
  }
}
