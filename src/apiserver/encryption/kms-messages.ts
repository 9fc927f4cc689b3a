import { WireReader } from '../protobuf/wire-reader.ts'
import { WireWriter } from '../protobuf/wire-writer.ts'

/** The messages of the gRPC service `v2.KeyManagementService` (k8s.io/kms/apis/v2). */

export type Annotations = Readonly<Record<string, Buffer>>

export interface EncryptedKey {
  readonly ciphertext: Buffer
  readonly keyId: string
  readonly annotations: Annotations
}

type Field = string | Buffer | Annotations | undefined

/** Fields from 1 on, in order; writers fill from the back. */
export function writeFields(fields: readonly Field[]): Buffer {
  const writer = new WireWriter(256)
  for (let i = fields.length - 1; i >= 0; i--) {
    const value = fields[i]
    if (value === undefined || value === '') continue
    if (typeof value === 'string') writer.text(i + 1, value)
    else if (Buffer.isBuffer(value)) writer.bytes(i + 1, value)
    else for (const [key, one] of Object.entries(value as Annotations)) writeEntry(writer, i + 1, key, one)
  }
  return writer.take()
}

function writeEntry(writer: WireWriter, field: number, key: string, value: Buffer): void {
  const start = writer.written
  writer.bytes(2, value)
  writer.text(1, key)
  writer.closeBytes(field, start)
}

/** All fields that hold bytes, by number, in order. */
export function readFields(bytes: Buffer): Map<number, Buffer[]> {
  const reader = new WireReader(bytes)
  const fields = new Map<number, Buffer[]>()
  while (reader.at < bytes.length) {
    const tag = reader.size()
    if ((tag & 7) !== 2) {
      reader.skip(tag & 7, bytes.length)
      continue
    }
    const value = reader.bytes(bytes.length)
    fields.set(tag >>> 3, [...(fields.get(tag >>> 3) ?? []), value])
  }
  return fields
}

const NOTHING = Buffer.alloc(0)
export const bytesOf = (fields: Map<number, Buffer[]>, field: number) => fields.get(field)?.at(-1) ?? NOTHING
export const textOf = (fields: Map<number, Buffer[]>, field: number) => bytesOf(fields, field).toString()

export function annotationsOf(fields: Map<number, Buffer[]>, field: number): Annotations {
  const entries = (fields.get(field) ?? []).map((bytes) => {
    const entry = readFields(bytes)
    return [textOf(entry, 1), bytesOf(entry, 2)] as const
  })
  return Object.fromEntries(entries)
}

/** What stands in front of a value: the data key as the service encrypted it. */
export const EncryptedDek = {
  encode: ({ ciphertext, keyId, annotations }: EncryptedKey) => writeFields([ciphertext, keyId, annotations]),
  decode(bytes: Buffer): EncryptedKey {
    const fields = readFields(bytes)
    return { ciphertext: bytesOf(fields, 1), keyId: textOf(fields, 2), annotations: annotationsOf(fields, 3) }
  },
}
