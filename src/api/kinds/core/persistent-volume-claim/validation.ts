import type {
  PersistentVolumeClaim,
  PersistentVolumeClaimSpec,
  TypedObjectReference,
} from '../../../generated/core-v1.ts'
import { type FieldError, invalid, notSupported, required } from '../../../meta/field-error.ts'
import { FieldPath } from '../../../meta/field-path.ts'
import { validateLabelSelector } from '../../../meta/label-selector.ts'
import { isDns1123Subdomain, nameIsDnsLabel, nameIsDnsSubdomain } from '../../../meta/names.ts'
import { isNegative, value } from '../../../meta/quantity.ts'
import { validateAccessModes } from '../access-modes.ts'
import { quantityIn, type ResourceList, validatePositive } from '../resource-list.ts'

const SPEC = FieldPath.root('spec')
const STATUS = FieldPath.root('status')
const VOLUME_MODES = ['Block', 'Filesystem']
const RESIZE_STATUSES = [
  'ControllerResizeInProgress',
  'ControllerResizeInfeasible',
  'NodeResizePending',
  'NodeResizeInProgress',
  'NodeResizeInfeasible',
]

export function validateClaim(claim: PersistentVolumeClaim): FieldError[] {
  return validateClaimSpec(claim.spec ?? {}, SPEC)
}

/** Claims also stand in templates: of StatefulSets and of ephemeral volumes. */
export function validateClaimSpec(spec: PersistentVolumeClaimSpec, path: FieldPath): FieldError[] {
  const errors: FieldError[] = []
  if (!spec.accessModes?.length) errors.push(required(path.child('accessModes'), 'at least 1 access mode is required'))
  errors.push(...validateLabelSelector(spec.selector, path.child('selector')))
  errors.push(...validateAccessModes(spec.accessModes ?? [], path.child('accessModes')))
  errors.push(...validateSize(spec, path.child('resources').key('storage')))
  for (const field of ['storageClassName', 'volumeAttributesClassName'] as const) {
    const name = spec[field]
    if (name)
      for (const message of nameIsDnsSubdomain(name, false)) errors.push(invalid(path.child(field), name, message))
  }
  if (spec.volumeMode !== undefined && !VOLUME_MODES.includes(spec.volumeMode))
    errors.push(notSupported(path.child('volumeMode'), spec.volumeMode, VOLUME_MODES))
  errors.push(...validateDataSources(spec, path))
  return errors
}

function validateSize(spec: PersistentVolumeClaimSpec, path: FieldPath): FieldError[] {
  const size = quantityIn(spec.resources?.requests, 'storage')
  return size === undefined ? [required(path)] : validatePositive(size, path)
}

function validateDataSources({ dataSource, dataSourceRef }: PersistentVolumeClaimSpec, path: FieldPath): FieldError[] {
  const errors: FieldError[] = []
  if (dataSource) errors.push(...validateDataSource(dataSource, path.child('dataSource')))
  if (dataSourceRef) errors.push(...validateDataSource(dataSourceRef, path.child('dataSourceRef')))
  const shown = path.child('dataSource').toString()
  if (dataSource && dataSourceRef?.namespace)
    errors.push(invalid(path, shown, 'may not be specified when dataSourceRef.namespace is specified'))
  else if (dataSource && dataSourceRef && !isSameSource(dataSource, dataSourceRef))
    errors.push(invalid(path, shown, 'must match dataSourceRef'))
  return errors
}

const isSameSource = (a: TypedObjectReference, b: TypedObjectReference) =>
  (a.apiGroup ?? '') === (b.apiGroup ?? '') && a.kind === b.kind && a.name === b.name

function validateDataSource(source: TypedObjectReference, path: FieldPath): FieldError[] {
  const { apiGroup = '', kind = '', name = '', namespace = '' } = source
  const errors: FieldError[] = []
  if (name === '') errors.push(required(path.child('name')))
  if (kind === '') errors.push(required(path.child('kind')))
  if (apiGroup === '' && kind !== 'PersistentVolumeClaim')
    errors.push(invalid(path, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup"))
  if (apiGroup !== '')
    for (const message of isDns1123Subdomain(apiGroup)) errors.push(invalid(path.child('apiGroup'), apiGroup, message))
  if (namespace !== '')
    for (const message of nameIsDnsLabel(namespace, false))
      errors.push(invalid(path.child('namespace'), namespace, message))
  return errors
}

export function validateClaimStatus({ spec, status }: PersistentVolumeClaim): FieldError[] {
  const errors: FieldError[] = []
  if (!spec?.accessModes?.length) errors.push(required(FieldPath.root('Spec').child('accessModes')))
  errors.push(...validateAmounts(status?.capacity, STATUS.child('capacity')))
  const statuses = status?.allocatedResourceStatuses ?? {}
  for (const name in statuses)
    if (!RESIZE_STATUSES.includes(statuses[name]!))
      errors.push(notSupported(STATUS.child('allocatedResourceStatuses'), name, [...RESIZE_STATUSES].sort()))
  errors.push(...validateAmounts(status?.allocatedResources, STATUS.child('allocatedResources')))
  return errors
}

function validateAmounts(list: ResourceList | undefined, path: FieldPath): FieldError[] {
  const errors: FieldError[] = []
  for (const name in list) {
    const amount = quantityIn(list, name)
    if (amount && isNegative(amount))
      errors.push(invalid(path.key(name), value(amount), 'must be a valid resource quantity'))
  }
  return errors
}
