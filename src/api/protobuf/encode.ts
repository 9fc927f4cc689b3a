import { getOrCreate } from '../../base/get-or-create.ts'
import { WIRE } from '../../protobuf/wire-reader.ts'
import { putSize, sizeLength, WireWriter } from '../../protobuf/wire-writer.ts'
import type { Kind } from '../kind.ts'
import { apiVersionOf, type KubernetesObject, type ListMeta } from '../meta/object.ts'
import { MAGIC } from './envelope.ts'
import { type Message, messageOf, messageOfKind } from './messages.ts'
import { writeMessage } from './write-message.ts'

/** An object as it goes out. The message itself is the end of it: lists hold messages without their envelopes. */
export interface EncodedObject {
  readonly bytes: Buffer
  readonly messageStart: number
}

interface Typed {
  readonly apiVersion?: string
  readonly kind?: string
}

const FIELD = { typeMeta: 1, raw: 2 }
/** Everything here is written in one go, so one writer serves all. */
const writer = new WireWriter(64 * 1024)

/** A Status, a review, metadata alone: anything that says what it is. */
export function encodeObject(object: object): Buffer {
  const { apiVersion = '', kind = '' } = object as Typed
  const message = messageOfKind(apiVersion, kind)
  if (!message) throw new Error(`${apiVersion} ${kind} has no protobuf form`)
  return encode(message, object).bytes
}

function encode(message: Message, object: Typed): EncodedObject {
  writer.reset()
  writeMessage(writer, message, object as Readonly<Record<string, unknown>>)
  const messageLength = writer.written
  closeEnvelope(object)
  const bytes = writer.take()
  return { bytes, messageStart: bytes.length - messageLength }
}

/** Puts the envelope in front of a message: the one just written, and what will be sent behind it. */
function closeEnvelope({ apiVersion, kind }: Typed, behind = 0): void {
  writer.size(writer.written + behind)
  writer.size(FIELD.raw * 8 + WIRE.bytes)
  const before = writer.written
  writer.text(2, kind ?? '')
  writer.text(1, apiVersion ?? '')
  writer.closeBytes(FIELD.typeMeta, before)
  writer.raw(MAGIC)
}

interface Stored {
  readonly object: KubernetesObject
}

const encoded = new WeakMap<Stored, EncodedObject>()

/** Encodes a stored object that is already in the version of `kind`, once for all readers. */
export function encodeStored(kind: Kind, stored: Stored): EncodedObject {
  return getOrCreate(encoded, stored, () => encode(messageOf(kind.schema.definition!)!, stored.object))
}

/** A list around the items that `joinItems` made. */
export function encodeList(kind: Kind, metadata: ListMeta, items: Buffer): Buffer[] {
  writer.reset()
  writeMessage(writer, messageOf('io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta')!, { ...metadata })
  writer.closeBytes(1, 0)
  closeEnvelope({ apiVersion: apiVersionOf(kind), kind: kind.listKind }, items.length)
  return [writer.take(), items]
}

const ITEM_TAG = 2 * 8 + WIRE.bytes

/** The messages of objects as items of a list, from their own bytes. */
export function joinItems(objects: readonly EncodedObject[]): Buffer {
  let size = 0
  for (const { bytes, messageStart } of objects) {
    const length = bytes.length - messageStart
    size += 1 + sizeLength(length) + length
  }
  const joined = Buffer.allocUnsafe(size)
  let at = 0
  for (const { bytes, messageStart } of objects) {
    joined[at++] = ITEM_TAG
    at = putSize(joined, at, bytes.length - messageStart)
    at += bytes.copy(joined, at, messageStart)
  }
  return joined
}

/** One event of a watch: its length, then a `WatchEvent` around the whole object. */
export function encodeEvent(type: string, object: Buffer): Buffer {
  writer.reset()
  writer.bytes(1, object)
  writer.closeBytes(2, 0)
  writer.text(1, type)
  const length = Buffer.allocUnsafe(4)
  length.writeUInt32BE(writer.written)
  writer.raw(length)
  return writer.take()
}
