import type { KubernetesObject } from '../../api/meta/object.ts'
import { deepEqual } from '../../base/deep-equal.ts'
import type { CachedObject } from '../watch-cache/cached-object.ts'
import type { EncodedObject } from '../watch-cache/encoding.ts'
import { listOf } from './shared-items.ts'

/** Beyond so many, writing all of the object anew is not much dearer. */
const FEW = 8
const RESOURCE_VERSION = '{"resourceVersion":"'

type Fields = Readonly<Record<string, unknown>>

/**
 * What `encodeObject` makes of an object that differs from the stored one in its metadata and in a few items of a list
 * (one endpoint of a hundred): the stored bytes with those exchanged. Undefined where the bytes are not as expected.
 */
export function encodeChangedItems(
  field: string,
  current: CachedObject,
  draft: KubernetesObject,
): EncodedObject | undefined {
  const old = current.object
  const items = changedItems(listOf(old, field), listOf(draft, field))
  if (!items || !differsOnlyIn(field, old, draft)) return undefined
  const tail = tailOf(current)
  const exchanged = tail && exchange(tail, items)
  if (!exchanged) return undefined
  const object = { ...draft, metadata: { resourceVersion: '', ...draft.metadata } }
  object.metadata.resourceVersion = ''
  const type = `{"kind":${JSON.stringify(old.kind)},"apiVersion":${JSON.stringify(old.apiVersion)},"metadata":`
  return {
    value: joined([type, JSON.stringify(object.metadata), ...exchanged]),
    revisionSlot: Buffer.byteLength(type + RESOURCE_VERSION),
    object,
  }
}

type ItemChange = readonly [before: unknown, after: unknown]

function changedItems(
  before: readonly unknown[] | undefined,
  after: readonly unknown[] | undefined,
): ItemChange[] | undefined {
  if (!before || before.length !== after?.length) return undefined
  const changes: ItemChange[] = []
  for (let i = 0; i < before.length; i++)
    if (before[i] !== after[i] && changes.push([before[i], after[i]]) > FEW) return undefined
  return changes
}

/** All fields are in their order, the first three being those that `encodeObject` writes first. */
function differsOnlyIn(field: string, old: KubernetesObject, draft: KubernetesObject): boolean {
  const names = Object.keys(old)
  if (names.join() !== Object.keys(draft).join() || !names.join().startsWith('kind,apiVersion,metadata,')) return false
  const [before, after] = [old as unknown as Fields, draft as unknown as Fields]
  return names.every((name) => name === field || name === 'metadata' || deepEqual(before[name], after[name]))
}

/** What comes after the metadata, where only labels and annotations may have the name of the field that follows. */
function tailOf({ bytes, object }: CachedObject): Buffer | undefined {
  const name = Object.keys(object)[3]!
  const { labels = {}, annotations = {} } = object.metadata
  if (Object.hasOwn(labels, name) || Object.hasOwn(annotations, name)) return undefined
  const at = bytes.indexOf(`,${JSON.stringify(name)}:`)
  return at < 0 ? undefined : bytes.subarray(at)
}

/** An item's JSON is found nowhere inside of a text, where its quotes would be escaped; it must be there just once. */
function exchange(bytes: Buffer, items: readonly ItemChange[]): (Buffer | string)[] | undefined {
  const parts: (Buffer | string)[] = []
  let rest = bytes
  for (const [before, after] of items) {
    const text = Buffer.from(JSON.stringify(before))
    const at = rest.indexOf(text)
    if (at < 0 || rest.includes(text, at + 1)) return undefined
    parts.push(rest.subarray(0, at), JSON.stringify(after))
    rest = rest.subarray(at + text.length)
  }
  parts.push(rest)
  return parts
}

function joined(parts: readonly (Buffer | string)[]): Buffer {
  const lengths = parts.map((part) => (typeof part === 'string' ? Buffer.byteLength(part) : part.length))
  const whole = Buffer.allocUnsafe(lengths.reduce((sum, length) => sum + length))
  let at = 0
  for (const [i, part] of parts.entries()) {
    if (typeof part === 'string') whole.write(part, at)
    else whole.set(part, at)
    at += lengths[i]!
  }
  return whole
}
