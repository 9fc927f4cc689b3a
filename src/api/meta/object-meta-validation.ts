import { type FieldError, forbidden, invalid, required, tooLong } from './field-error.ts'
import { FieldPath } from './field-path.ts'
import { validateLabels } from './labels-validation.ts'
import { isQualifiedName, type NameCheck, nameIsDnsLabel } from './names.ts'
import { type ManagedFieldsEntry, type ObjectMeta, type OwnerReference, parseApiVersion } from './object.ts'

export const ANNOTATIONS_MAX_BYTES = 256 * 1024
const FIELD_MANAGER_MAX = 128
const SUBRESOURCE_MAX = 256
const STANDARD_FINALIZERS = new Set(['kubernetes', 'orphan', 'foregroundDeletion'])
const METADATA = FieldPath.root('metadata')

export interface ObjectMetaRules {
  readonly namespaced: boolean
  readonly validateName: NameCheck
  /** Built-in kinds take a finalizer without a domain only if it is a standard one; custom resources take any. */
  readonly standardFinalizersOnly?: boolean
}

/** What is wrong with the metadata of an object that is about to be created, after name generation. */
export function validateObjectMeta(meta: ObjectMeta, rules: ObjectMetaRules, path = METADATA): FieldError[] {
  const errors: FieldError[] = []
  if (meta.generateName)
    for (const message of rules.validateName(meta.generateName, true))
      errors.push(invalid(path.child('generateName'), meta.generateName, message))
  if (!meta.name) errors.push(required(path.child('name'), 'name or generateName is required'))
  else
    for (const message of rules.validateName(meta.name, false))
      errors.push(invalid(path.child('name'), meta.name, message))
  errors.push(...validateNamespace(meta.namespace, rules.namespaced, path.child('namespace')))
  if (meta.generation !== undefined && meta.generation < 0)
    errors.push(invalid(path.child('generation'), meta.generation, 'must be greater than or equal to 0'))
  errors.push(...validateCommon(meta, rules, path))
  return errors
}

function validateNamespace(namespace: string | undefined, namespaced: boolean, path: FieldPath): FieldError[] {
  if (!namespaced) return namespace ? [forbidden(path, 'not allowed on this type')] : []
  if (!namespace) return [required(path)]
  return nameIsDnsLabel(namespace, false).map((message) => invalid(path, namespace, message))
}

function validateCommon(meta: ObjectMeta, rules: ObjectMetaRules, path: FieldPath): FieldError[] {
  return [
    ...validateLabels(meta.labels, path.child('labels')),
    ...validateAnnotations(meta.annotations, path.child('annotations')),
    ...validateOwnerReferences(meta.ownerReferences, path.child('ownerReferences')),
    ...validateFinalizers(meta.finalizers, rules.standardFinalizersOnly ?? false, path.child('finalizers')),
    ...validateManagedFields(meta.managedFields, path.child('managedFields')),
  ]
}

const IMMUTABLE = [
  'name',
  'namespace',
  'uid',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
] as const

/** What is wrong with a change of metadata. `meta` has its server-set fields restored already where users omit them. */
export function validateObjectMetaUpdate(
  meta: ObjectMeta,
  old: ObjectMeta,
  rules: ObjectMetaRules,
  path = METADATA,
): FieldError[] {
  const errors: FieldError[] = []
  if (old.deletionTimestamp) errors.push(...noNewFinalizers(meta, old, path.child('finalizers')))
  if (!meta.resourceVersion)
    errors.push(invalid(path.child('resourceVersion'), meta.resourceVersion ?? '', 'must be specified for an update'))
  if ((meta.generation ?? 0) < (old.generation ?? 0))
    errors.push(invalid(path.child('generation'), meta.generation ?? 0, 'must not be decremented'))
  for (const field of IMMUTABLE)
    if ((meta[field] ?? '') !== (old[field] ?? ''))
      errors.push(invalid(path.child(field), meta[field] ?? null, 'field is immutable'))
  errors.push(...validateCommon(meta, rules, path))
  return errors
}

function noNewFinalizers(meta: ObjectMeta, old: ObjectMeta, path: FieldPath): FieldError[] {
  const known = new Set(old.finalizers)
  const added = (meta.finalizers ?? []).filter((finalizer) => !known.has(finalizer)).sort()
  if (added.length === 0) return []
  const shown = `[]string{${added.map((finalizer) => JSON.stringify(finalizer)).join(', ')}}`
  return [
    forbidden(path, `no new finalizers can be added if the object is being deleted, found new finalizers ${shown}`),
  ]
}

export function validateAnnotations(annotations: ObjectMeta['annotations'], path: FieldPath): FieldError[] {
  const errors: FieldError[] = []
  let size = 0
  for (const key in annotations) {
    for (const message of isQualifiedName(key.toLowerCase())) errors.push(invalid(path, key, message))
    size += Buffer.byteLength(key) + Buffer.byteLength(annotations[key]!)
  }
  if (size > ANNOTATIONS_MAX_BYTES) errors.push(tooLong(path, ANNOTATIONS_MAX_BYTES))
  return errors
}

function validateOwnerReferences(references: readonly OwnerReference[] | undefined, path: FieldPath): FieldError[] {
  if (!references) return []
  const errors = references.flatMap((reference) => validateOwnerReference(reference, path))
  const controllers = references.filter((reference) => reference.controller)
  for (const second of controllers.slice(1))
    errors.push(
      invalid(
        path,
        references,
        `Only one reference can have Controller set to true. Found "true" in references for ${controllers[0]!.name} and ${second.name}`,
      ),
    )
  return errors
}

function validateOwnerReference(reference: OwnerReference, path: FieldPath): FieldError[] {
  const errors: FieldError[] = []
  const { group, version } = parseApiVersion(reference.apiVersion ?? '')
  if (!version) errors.push(invalid(path.child('apiVersion'), reference.apiVersion ?? '', 'version must not be empty'))
  for (const field of ['kind', 'name', 'uid'] as const)
    if (!reference[field]) errors.push(invalid(path.child(field), reference[field] ?? '', 'must not be empty'))
  if (group === '' && version === 'v1' && reference.kind === 'Event')
    errors.push(invalid(path, reference, '/v1, Kind=Event is disallowed from being an owner'))
  return errors
}

function validateFinalizers(
  finalizers: readonly string[] | undefined,
  standardOnly: boolean,
  path: FieldPath,
): FieldError[] {
  if (!finalizers || finalizers.length === 0) return []
  const errors = finalizers.flatMap((one) => isQualifiedName(one).map((message) => invalid(path, one, message)))
  if (finalizers.includes('orphan') && finalizers.includes('foregroundDeletion'))
    errors.push(invalid(path, finalizers, 'finalizer orphan and foregroundDeletion cannot be both set'))
  if (standardOnly)
    finalizers.forEach((one, index) => {
      if (!one.includes('/') && !STANDARD_FINALIZERS.has(one))
        errors.push(
          invalid(path.index(index), one, 'name is neither a standard finalizer name nor is it fully qualified'),
        )
    })
  return errors
}

function validateManagedFields(entries: readonly ManagedFieldsEntry[] | undefined, path: FieldPath): FieldError[] {
  const errors: FieldError[] = []
  entries?.forEach((entry, index) => {
    const at = path.index(index)
    if (entry.operation !== 'Apply' && entry.operation !== 'Update')
      errors.push(invalid(at.child('operation'), entry.operation ?? '', 'must be `Apply` or `Update`'))
    if (entry.fieldsType && entry.fieldsType !== 'FieldsV1')
      errors.push(invalid(at.child('fieldsType'), entry.fieldsType, 'must be `FieldsV1`'))
    errors.push(...validateFieldManager(entry.manager ?? '', at.child('manager')))
    if ((entry.subresource?.length ?? 0) > SUBRESOURCE_MAX)
      errors.push(tooLong(at.child('subresource'), SUBRESOURCE_MAX))
  })
  return errors
}

/** What nearly all names consist of. The classes of Unicode take milliseconds to compile: they wait for other names. */
const PRINTABLE_ASCII = /^[ -~]*$/

/** The name of a field manager, in an entry or in the query of a request. */
export function validateFieldManager(manager: string, path: FieldPath): FieldError[] {
  const errors: FieldError[] = []
  if (Buffer.byteLength(manager) > FIELD_MANAGER_MAX) errors.push(tooLong(path, FIELD_MANAGER_MAX))
  if (PRINTABLE_ASCII.test(manager)) return errors
  const odd = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.exec(manager)?.[0]
  if (odd !== undefined) {
    const code = odd.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')
    errors.push(invalid(path, manager, `should only contain printable characters (found: U+${code})`))
  }
  return errors
}
