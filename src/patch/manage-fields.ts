import { requestTooLarge } from '../api/meta/api-error.ts'
import type { FieldsV1, JsonObject, KubernetesObject, ManagedFieldsEntry } from '../api/meta/object.ts'
import { formatTime } from '../api/meta/time.ts'
import type { Schema } from '../api/schema/schema.ts'
import { deepEqual } from '../base/deep-equal.ts'
import { type Comparison, compareFields, newObjectFields } from './compare-fields.ts'
import { difference, type FieldSet, setOf, smallDifference, union, without } from './field-set.ts'
import {
  capUpdateManagers,
  entryFor,
  type FieldOwner,
  fieldsOf,
  isEntryOf,
  isValidManagedFields,
  MAX_MANAGERS,
  type ManagedFields,
  ownerText,
  sorted,
  withManager,
  withoutFields,
} from './managed-fields.ts'
import { objectShapeOf } from './merge-shape.ts'

/** A write of an object, as far as its managed fields are concerned. */
export interface ManagedWrite {
  /** The object before; undefined when it is created. Not changed. */
  readonly old: KubernetesObject | undefined
  /** The object after defaulting and admission. Its `metadata.managedFields` is set here. */
  readonly draft: KubernetesObject
  readonly manager: string
  readonly apiVersion: string
  readonly subresource?: string
  /** Milliseconds since the epoch. */
  readonly now: number
  readonly schema: Schema
  /** Fields that this request cannot set, with all below them: `{ 'f:status': {} }` for a main resource. */
  readonly reset?: FieldsV1
}

/** Records who owns what after a create, an update or any patch that is not an apply. */
export function manageFields(write: ManagedWrite): void {
  const { old, draft } = write
  const manager: FieldOwner = {
    manager: write.manager || 'unknown',
    operation: 'Update',
    apiVersion: write.apiVersion,
    subresource: write.subresource ?? '',
  }
  const sent = draft.metadata.managedFields
  if (sent !== undefined && sent.length > MAX_MANAGERS) throw tooManyManagers()
  if (old === undefined && (sent === undefined || sent.length === 0)) manageNewObject(write, manager)
  else manageChange(write, manager)
}

const tooManyManagers = () =>
  requestTooLarge(`Request entity too large: metadata.managedFields has more than ${MAX_MANAGERS} entries`)

function manageChange(write: ManagedWrite, manager: FieldOwner): void {
  const { old, draft } = write
  const sent = draft.metadata.managedFields
  const before = entriesBefore(sent, old?.metadata.managedFields, manager.subresource !== '')
  // Who has reset the managed fields of an object, or got it without, does not want them until somebody applies.
  if (before.length === 0 && old !== undefined) {
    delete draft.metadata.managedFields
    return
  }
  const comparison = compareFields((old ?? {}) as JsonObject, asJson(draft), objectShapeOf(write.schema))
  const changed = without(comparison.changed, write.reset)
  store(draft, changedEntries(before, manager, changed, comparison, write.now), old)
}

/** The usual creation: one manager owns all there is. */
function manageNewObject({ draft, now, schema, reset }: ManagedWrite, manager: FieldOwner): void {
  const fields = without(setOf(newObjectFields(asJson(draft), objectShapeOf(schema))), reset)
  if (fields === undefined) delete draft.metadata.managedFields
  else draft.metadata.managedFields = [entryFor(manager, formatTime(now), fields)]
}

/** What was changed belongs to the writer and to nobody else any more; what was removed to nobody. */
function changedEntries(
  before: ManagedFields,
  manager: FieldOwner,
  changed: FieldSet,
  comparison: Comparison,
  now: number,
): ManagedFields {
  const entries = reduceEntries(before, comparison.changed, comparison.removed)
  if (changed === undefined) return entries
  const own = entries.find((entry) => isEntryOf(entry, manager))
  return withManager(entries, manager, union(fieldsOf(own), changed), formatTime(now), true)
}

const MANY_ENTRIES = 8

/** The same array if no entry loses a field. */
export function reduceEntries(entries: ManagedFields, ...sets: FieldSet[]): ManagedFields {
  if (sets.every((set) => set === undefined)) return entries
  const reduced: ManagedFieldsEntry[] = []
  // As a rule a change is small, and follows its own edges. Among many entries most are small.
  const subtract = entries.length > MANY_ENTRIES ? smallDifference : difference
  let isSame = true
  for (const entry of entries) {
    const rest = withoutFields(entry, sets, subtract)
    if (rest !== entry) isSame = false
    if (rest !== undefined) reduced.push(rest)
  }
  return isSame ? entries : reduced
}

/**
 * Which entries count: those that were sent, so that users can edit them; the old ones where the sent are missing or
 * malformed, so that clients which know nothing of them do no harm. One empty entry resets all.
 */
function entriesBefore(
  sent: ManagedFields | undefined,
  old: ManagedFields | undefined,
  isSubresource: boolean,
): ManagedFields {
  if (sent === undefined || sent.length === 0 || isSubresource || deepEqual(sent, old)) return old ?? []
  const [only] = sent
  if (sent.length === 1 && typeof only === 'object' && only !== null && Object.keys(only).length === 0) return []
  return isValidManagedFields(sent) ? sent.filter((entry) => hasFields(entry)) : (old ?? [])
}

const hasFields = (entry: ManagedFieldsEntry): boolean => setOf(entry.fieldsV1 ?? {}) !== undefined

/** Keeps the old array where nothing changed, so that an unchanged object is seen as such at once. */
export function store(draft: KubernetesObject, entries: ManagedFields, old: KubernetesObject | undefined): void {
  if (entries.length > MAX_MANAGERS) throw tooManyManagers()
  const before = old?.metadata.managedFields
  if (entries.length === 0) delete draft.metadata.managedFields
  else if (entries === before) draft.metadata.managedFields = before
  else {
    const next = sorted(capUpdateManagers(entries))
    draft.metadata.managedFields = before !== undefined && deepEqual(next, before) ? before : next
  }
}

/** Nothing would change but the times of managed fields: such a write is none, and the old times stand. */
export function isUnchanged(draft: KubernetesObject, old: KubernetesObject): boolean {
  const entries = draft.metadata.managedFields
  const before = old.metadata.managedFields
  if (entries?.length !== before?.length) return false
  if (!deepEqual({ ...draft, metadata: { ...draft.metadata, managedFields: before } }, old)) return false
  if (entries === before) return true
  const known = new Map(before?.map((entry) => [ownerText(entry), entry]))
  return entries!.every((entry) => {
    const one = known.get(ownerText(entry))
    return one !== undefined && deepEqual({ ...entry, time: one.time }, one)
  })
}

/** Objects of a kind are JSON; their types just don't say so. */
export const asJson = (object: KubernetesObject): JsonObject => object as unknown as JsonObject
