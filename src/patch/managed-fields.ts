import type { FieldsV1, ManagedFieldsEntry } from '../api/meta/object.ts'
import { getOrCreate } from '../base/get-or-create.ts'
import { type difference, equalSets, type FieldSet, inOrder, unionAll } from './field-set.ts'

/** Who writes: together these tell one entry of `metadata.managedFields` from another. */
export interface FieldOwner {
  readonly manager: string
  readonly operation: 'Apply' | 'Update'
  readonly apiVersion: string
  readonly subresource: string
}

export type ManagedFields = readonly ManagedFieldsEntry[]

/** More updaters than this are folded into one, the oldest first. */
export const MAX_UPDATE_MANAGERS = 10
const ANCIENT_CHANGES = 'ancient-changes'
/** Each of them is compared with what changed: more are only sent to keep the server busy. */
export const MAX_MANAGERS = 1000

/** Whether two entries are of the same owner shows in this text. */
export const ownerText = ({ manager, operation, apiVersion, subresource }: ManagedFieldsEntry): string =>
  JSON.stringify([manager, operation, apiVersion, subresource])

export const fieldsOf = (entry: ManagedFieldsEntry | undefined): FieldSet => entry?.fieldsV1

/** An applier stays the same when it moves to another version of the API. */
export const isEntryOf = (entry: ManagedFieldsEntry, manager: FieldOwner): boolean =>
  entry.manager === manager.manager &&
  entry.operation === manager.operation &&
  (entry.subresource ?? '') === manager.subresource &&
  (manager.operation === 'Apply' || entry.apiVersion === manager.apiVersion)

export function entryFor(manager: FieldOwner, time: string, fieldsV1: FieldsV1): ManagedFieldsEntry {
  return {
    manager: manager.manager,
    operation: manager.operation,
    apiVersion: manager.apiVersion,
    time,
    fieldsType: 'FieldsV1',
    fieldsV1: inOrder(fieldsV1),
    ...(manager.subresource && { subresource: manager.subresource }),
  }
}

/** Takes fields away from an entry. Undefined if nothing is left; the same entry if it had none of them. */
export function withoutFields(
  entry: ManagedFieldsEntry,
  sets: readonly FieldSet[],
  subtract: typeof difference,
): ManagedFieldsEntry | undefined {
  const before = fieldsOf(entry)
  let rest = before
  for (const set of sets) rest = subtract(rest, set)
  if (rest === before) return entry
  return rest && { ...entry, fieldsV1: rest }
}

/** Entries with this manager's set; an entry that stays the same keeps its time unless `touch`. */
export function withManager(
  entries: ManagedFields,
  manager: FieldOwner,
  set: FieldSet,
  time: string,
  touch: boolean,
): ManagedFields {
  const index = entries.findIndex((entry) => isEntryOf(entry, manager))
  const known = entries[index]
  if (set === undefined) return known ? entries.toSpliced(index, 1) : entries
  if (!known) return [...entries, entryFor(manager, time, set)]
  const isSame = known.apiVersion === manager.apiVersion && equalSets(fieldsOf(known), set)
  return isSame && !touch ? entries : entries.with(index, entryFor(manager, time, set))
}

/** In the order that the API shows them: appliers first, then by time. */
export function sorted(entries: ManagedFields): ManagedFieldsEntry[] {
  return [...entries].sort(
    (a, b) =>
      order(a.operation, b.operation) ||
      order(a.time, b.time) ||
      order(a.manager, b.manager) ||
      order(a.apiVersion, b.apiVersion) ||
      order(a.subresource, b.subresource),
  )
}

const order = (a = '', b = ''): number => (a < b ? -1 : a > b ? 1 : 0)

/** Folds the oldest updaters of the same version together until few enough are left. */
export function capUpdateManagers(entries: ManagedFields): ManagedFields {
  const updaters = sorted(entries.filter((entry) => entry.operation === 'Update'))
  let excess = updaters.length - MAX_UPDATE_MANAGERS
  if (excess <= 0) return entries
  const byVersion = new Map<string, ManagedFieldsEntry[]>()
  const gone = new Set<ManagedFieldsEntry>()
  for (const entry of updaters) {
    if (excess <= 0) break
    const group = getOrCreate(byVersion, entry.apiVersion ?? '', () => [])
    if (group.length > 0) excess--
    group.push(entry)
    gone.add(entry)
  }
  return [...entries.filter((entry) => !gone.has(entry)), ...[...byVersion.values()].map(fold)]
}

function fold(entries: readonly ManagedFieldsEntry[]): ManagedFieldsEntry {
  const newest = entries.at(-1)!
  if (entries.length === 1) return newest
  return {
    manager: ANCIENT_CHANGES,
    operation: 'Update',
    ...(newest.apiVersion !== undefined && { apiVersion: newest.apiVersion }),
    ...(newest.time !== undefined && { time: newest.time }),
    fieldsType: 'FieldsV1',
    fieldsV1: inOrder(unionAll(entries.map(fieldsOf)) ?? {}),
  }
}

/** Entries that a user sent must be well formed, or they are not taken. */
export const isValidManagedFields = (entries: unknown): entries is ManagedFields =>
  Array.isArray(entries) && entries.every((entry) => isValidEntry(entry as ManagedFieldsEntry | null))

function isValidEntry(entry: ManagedFieldsEntry | null): boolean {
  if (typeof entry !== 'object' || entry === null || entry.fieldsType !== 'FieldsV1') return false
  if (entry.operation !== 'Apply' && entry.operation !== 'Update') return false
  if (typeof entry.apiVersion !== 'string' || typeof (entry.manager ?? '') !== 'string') return false
  return entry.fieldsV1 === undefined || isValidTree(entry.fieldsV1)
}

function isValidTree(node: unknown): boolean {
  if (typeof node !== 'object' || node === null || Array.isArray(node)) return false
  for (const [element, child] of Object.entries(node)) if (!isValidElement(element) || !isValidTree(child)) return false
  return true
}

function isValidElement(element: string): boolean {
  if (element === '.' || element.startsWith('f:') || /^i:-?\d+$/.test(element)) return true
  if (!element.startsWith('k:') && !element.startsWith('v:')) return false
  try {
    const value: unknown = JSON.parse(element.slice(2))
    return element.startsWith('v:') || (typeof value === 'object' && value !== null && !Array.isArray(value))
  } catch {
    return false
  }
}
