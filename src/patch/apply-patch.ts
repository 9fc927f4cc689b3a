import { ApiError, badRequest } from '../api/meta/api-error.ts'
import type { FieldsV1, JsonObject, KubernetesObject, ManagedFieldsEntry } from '../api/meta/object.ts'
import { formatTime } from '../api/meta/time.ts'
import type { Schema } from '../api/schema/schema.ts'
import { getOrCreate } from '../base/get-or-create.ts'
import { appliedFieldsOf } from './applied-fields.ts'
import { mergeConfiguration } from './apply-merge.ts'
import { type Comparison, compareFields, newObjectFields } from './compare-fields.ts'
import {
  difference,
  equalSets,
  type FieldSet,
  intersection,
  memberPaths,
  setOf,
  unionAll,
  without,
} from './field-set.ts'
import { cloneWithoutNulls, isObject } from './json-value.ts'
import { fieldsLastApplied, KUBECTL, refreshLastApplied } from './last-applied.ts'
import { asJson, reduceEntries, store } from './manage-fields.ts'
import { entryFor, type FieldOwner, fieldsOf, isEntryOf, type ManagedFields, withManager } from './managed-fields.ts'
import { type MergeShape, objectShapeOf } from './merge-shape.ts'
import { pruneFields } from './prune-fields.ts'

/** A server-side apply (KEP-555). */
export interface ApplyRequest {
  /** The object as it is, undefined if the apply creates it. Not changed. */
  readonly old: KubernetesObject | undefined
  /** A private copy of `old`, which becomes the result. */
  readonly draft: KubernetesObject | undefined
  /** The configuration that was sent. Not changed. */
  readonly patch: unknown
  readonly manager: string
  readonly apiVersion: string
  readonly subresource?: string
  /** Takes fields that others own. */
  readonly force: boolean
  /** Milliseconds since the epoch. */
  readonly now: number
  readonly schema: Schema
  /** Fields that this request cannot set, with all below them: `{ 'f:status': {} }` for a main resource. */
  readonly reset?: FieldsV1
}

export interface ApplyResult {
  readonly object: KubernetesObject
  /** Neither the object nor any owner changed. */
  readonly isUnchanged: boolean
}

const BEFORE_FIRST_APPLY = 'before-first-apply'
/** Nobody owns a name, but every configuration has one: metadata stays when its last owned field goes. */
const NAMED: FieldsV1 = { 'f:metadata': { 'f:name': {} } }

/** Throws BadRequest for a bad configuration, and Conflict where others own what it would change. */
export function applyPatch(request: ApplyRequest): ApplyResult {
  const configuration = checkConfiguration(request)
  const manager: FieldOwner = {
    manager: request.manager,
    operation: 'Apply',
    apiVersion: request.apiVersion,
    subresource: request.subresource ?? '',
  }
  const shape = objectShapeOf(request.schema)
  const applied = appliedSet(request, configuration, shape)
  const { old, draft } = request
  if (!old || !draft) return { object: createdObject(configuration, manager, applied, request.now), isUnchanged: false }

  const before = entriesBefore(old, request, shape)
  const own = before.find((entry) => isEntryOf(entry, manager))
  const others = before.filter((entry) => entry !== own)
  merge(draft, configuration, old, shape)
  if (!equalSets(fieldsOf(own), applied)) {
    const owned = unionAll([NAMED, applied, ...others.map(fieldsOf)])
    pruneFields(asJson(draft), fieldsOf(own), owned, shape)
  }
  const comparison = compareFields(asJson(old), asJson(draft), shape)
  if (!request.force) refuseConflicts(old, others, comparison, manager, shape)

  if (manager.manager === KUBECTL) refreshLastApplied(draft, configuration)
  const reduced = reduceEntries(others, comparison.changed, comparison.removed)
  const entries = own ? [own, ...reduced] : reduced
  const isTouched = comparison.changed !== undefined || comparison.removed !== undefined
  const next = withManager(entries, manager, applied, formatTime(request.now), isTouched)
  // Ours is moved to the front above, so only a set that lost or won something makes this a change.
  const isSame = !isTouched && next === entries && reduced === others && before === old.metadata.managedFields
  store(draft, isSame ? before : next, old)
  return { object: draft, isUnchanged: isSame }
}

function checkConfiguration({ patch, apiVersion }: ApplyRequest): JsonObject {
  if (!isObject(patch)) throw badRequest('error decoding YAML: the configuration must be an object')
  const sent = patch.apiVersion
  if (sent !== apiVersion) {
    const found = typeof sent === 'string' ? sent : ''
    throw badRequest(
      `Incorrect version specified in apply patch. Specified patch version: ${found}, expected: ${apiVersion}`,
    )
  }
  const managedFields = isObject(patch.metadata) ? patch.metadata.managedFields : undefined
  if (Array.isArray(managedFields) && managedFields.length > 0) throw badRequest('metadata.managedFields must be nil')
  return patch
}

function appliedSet(request: ApplyRequest, configuration: JsonObject, shape: MergeShape): FieldSet {
  const { set, errors } = appliedFieldsOf(configuration, shape)
  if (errors.length > 0) {
    const text = errors.length === 1 ? errors[0] : `errors:\n  ${errors.join('\n  ')}`
    throw badRequest(`failed to create typed patch object (${describe(configuration)}): ${text}`)
  }
  return without(setOf(set), request.reset)
}

function describe({ apiVersion, kind, metadata }: JsonObject): string {
  const { namespace, name } = (isObject(metadata) ? metadata : {}) as JsonObject
  return `${namespace ? `${namespace}/` : ''}${name ?? ''}; ${apiVersion}, Kind=${kind}`
}

function createdObject(
  configuration: JsonObject,
  manager: FieldOwner,
  applied: FieldSet,
  now: number,
): KubernetesObject {
  const object = cloneWithoutNulls(configuration) as unknown as KubernetesObject
  object.metadata ??= {}
  if (applied) object.metadata.managedFields = [entryFor(manager, formatTime(now), applied)]
  return object
}

/** An object that nobody tracked until now: what it has belongs to those before. */
function entriesBefore(old: KubernetesObject, request: ApplyRequest, shape: MergeShape): ManagedFields {
  const entries = old.metadata.managedFields ?? []
  if (entries.length > 0) return entries
  const fields = without(setOf(newObjectFields(asJson(old), shape)), request.reset)
  if (!fields) return entries
  const earlier: FieldOwner = {
    manager: BEFORE_FIRST_APPLY,
    operation: 'Update',
    apiVersion: request.apiVersion,
    subresource: '',
  }
  return [entryFor(earlier, formatTime(request.now), fields)]
}

function merge(draft: KubernetesObject, configuration: JsonObject, old: KubernetesObject, shape: MergeShape): void {
  mergeConfiguration(asJson(draft), configuration, shape)
  // Clients send `creationTimestamp: null` for a time they don't know.
  if (!draft.metadata.creationTimestamp && old.metadata.creationTimestamp) {
    draft.metadata.creationTimestamp = old.metadata.creationTimestamp
  }
}

/** More than this nobody reads. */
const MAX_CONFLICTS = 1000

interface Conflict {
  readonly entry: ManagedFieldsEntry
  readonly path: string
}

function refuseConflicts(
  old: KubernetesObject,
  others: ManagedFields,
  { changed }: Comparison,
  manager: FieldOwner,
  shape: MergeShape,
): void {
  if (changed === undefined) return
  let allowed: FieldSet
  if (manager.manager === KUBECTL) allowed = fieldsLastApplied(old, shape)
  const contested = difference(changed, allowed)
  const conflicts = others.flatMap((entry) =>
    memberPaths(intersection(fieldsOf(entry), contested)).map((path): Conflict => ({ entry, path })),
  )
  if (conflicts.length > 0) throw conflictError(conflicts.slice(0, MAX_CONFLICTS))
}

function conflictError(conflicts: Conflict[]): ApiError {
  const causes = conflicts.map(({ entry, path }) => ({
    reason: 'FieldManagerConflict',
    message: `conflict with ${nameOf(entry)}`,
    field: path,
  }))
  return new ApiError(409, 'Conflict', conflictMessage(conflicts), { causes })
}

function conflictMessage(conflicts: Conflict[]): string {
  const [first] = conflicts
  if (conflicts.length === 1) {
    return `Apply failed with 1 conflict: conflict with ${nameOf(first!.entry)}: ${first!.path}`
  }
  const byManager = new Map<string, string[]>()
  for (const { entry, path } of conflicts) {
    const name = nameOf(entry)
    getOrCreate(byManager, name, () => []).push(`- ${path}`)
  }
  const lines = [...byManager].sort().flatMap(([name, paths]) => [`conflicts with ${name}:`, ...paths])
  return `Apply failed with ${conflicts.length} conflicts: ${lines.join('\n')}`
}

function nameOf({ manager = '', operation, apiVersion, subresource }: ManagedFieldsEntry): string {
  const door = subresource ? ` with subresource ${JSON.stringify(subresource)}` : ''
  return `${JSON.stringify(manager)}${door}${operation === 'Update' ? ` using ${apiVersion}` : ''}`
}
