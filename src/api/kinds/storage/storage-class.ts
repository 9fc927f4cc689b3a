import type { TopologySelectorTerm } from '../../generated/core-v1.ts'
import type { StorageClass } from '../../generated/storage-v1.ts'
import { defineKind } from '../../kind.ts'
import { duplicate, type FieldError, invalid, notSupported, required } from '../../meta/field-error.ts'
import { FieldPath } from '../../meta/field-path.ts'
import { validateLabelName } from '../../meta/labels-validation.ts'
import { isQualifiedName } from '../../meta/names.ts'
import { seenBefore } from '../../meta/seen-before.ts'
import { ANNOTATION } from '../../meta/well-known.ts'
import { immutable } from '../core/immutable.ts'
import { ageColumn, column, nameColumn } from '../core/printed-columns.ts'
import { validateParameters } from './parameters.ts'

const DEFAULT_ANNOTATIONS = [ANNOTATION.isDefaultStorageClass, ANNOTATION.betaIsDefaultStorageClass]
const PROVISIONER = FieldPath.root('provisioner')
const RECLAIM_POLICIES = ['Delete', 'Retain']
const BINDING_MODES = ['Immediate', 'WaitForFirstConsumer']

export const storageClassKind = defineKind<StorageClass>({
  group: 'storage.k8s.io',
  version: 'v1',
  kind: 'StorageClass',
  plural: 'storageclasses',
  shortNames: ['sc'],
  namespaced: false,
  schema: 'io.k8s.api.storage.v1.StorageClass',
  defaults: (draft) => {
    draft.reclaimPolicy ??= 'Delete'
    draft.volumeBindingMode ??= 'Immediate'
  },
  validate,
  validateUpdate,
  columns: [
    { ...nameColumn, value: name },
    column<StorageClass>('Provisioner', 'Who makes the volumes.', (storage) => storage.provisioner ?? ''),
    column<StorageClass>(
      'ReclaimPolicy',
      'What happens to volumes when their claim is gone.',
      (storage) => storage.reclaimPolicy ?? 'Delete',
    ),
    column<StorageClass>(
      'VolumeBindingMode',
      'When volumes are made and bound.',
      (storage) => storage.volumeBindingMode ?? 'Immediate',
    ),
    column<StorageClass>(
      'AllowVolumeExpansion',
      'Whether volumes may grow.',
      (storage) => storage.allowVolumeExpansion ?? false,
    ),
    ageColumn,
  ],
})

function name({ metadata }: StorageClass): string {
  const isDefault = DEFAULT_ANNOTATIONS.some((annotation) => metadata.annotations?.[annotation] === 'true')
  return `${metadata.name ?? ''}${isDefault ? ' (default)' : ''}`
}

function validate(storage: StorageClass): FieldError[] {
  const errors: FieldError[] = storage.provisioner
    ? isQualifiedName(storage.provisioner.toLowerCase()).map((m) => invalid(PROVISIONER, storage.provisioner, m))
    : [required(PROVISIONER)]
  errors.push(...validateParameters(storage.parameters, FieldPath.root('parameters')))
  if (storage.reclaimPolicy && !RECLAIM_POLICIES.includes(storage.reclaimPolicy))
    errors.push(notSupported(FieldPath.root('reclaimPolicy'), storage.reclaimPolicy, RECLAIM_POLICIES))
  const mode = storage.volumeBindingMode
  if (mode === undefined) errors.push(required(FieldPath.root('volumeBindingMode')))
  else if (!BINDING_MODES.includes(mode))
    errors.push(notSupported(FieldPath.root('volumeBindingMode'), mode, BINDING_MODES))
  errors.push(...validateTopologies(storage.allowedTopologies ?? []))
  return errors
}

function validateTopologies(terms: readonly TopologySelectorTerm[]): FieldError[] {
  const errors: FieldError[] = []
  const isRepeated = seenBefore<string>()
  terms.forEach((term, index) => {
    const path = FieldPath.root('allowedTopologies').index(index).child('matchLabelExpressions')
    const keys = new Set<string>()
    term.matchLabelExpressions?.forEach(({ key = '', values }, i) => {
      errors.push(...validateLabelName(key, path.index(i).child('key')))
      if (!values?.length) errors.push(required(path.index(i).child('values')))
      if (keys.has(key)) errors.push(duplicate(path.index(i).child('key'), key))
      keys.add(key)
      errors.push(...duplicates(values ?? [], path.index(i).child('values')))
    })
    if (isRepeated(textOf(term))) errors.push(duplicate(path, ''))
  })
  return errors
}

/** Equal terms have equal texts. */
const textOf = ({ matchLabelExpressions }: TopologySelectorTerm) =>
  JSON.stringify(matchLabelExpressions?.map(({ key, values }) => [key, values]))

function duplicates(values: readonly string[], path: FieldPath): FieldError[] {
  const isRepeated = seenBefore<string>()
  return values.flatMap((value, index) => (isRepeated(value) ? [duplicate(path.index(index), value)] : []))
}

const FIXED = ['parameters', 'provisioner', 'reclaimPolicy', 'volumeBindingMode'] as const

function validateUpdate(storage: StorageClass, old: StorageClass): FieldError[] {
  return FIXED.flatMap((field) => immutable(FieldPath.root(field), storage[field], old[field]))
}
