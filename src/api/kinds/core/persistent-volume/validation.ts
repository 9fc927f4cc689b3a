import { deepEqual } from '../../../../base/deep-equal.ts'
import type { PersistentVolume, PersistentVolumeSpec } from '../../../generated/core-v1.ts'
import { type FieldError, forbidden, invalid, notSupported, required } from '../../../meta/field-error.ts'
import { FieldPath } from '../../../meta/field-path.ts'
import { nameIsDnsSubdomain } from '../../../meta/names.ts'
import { isNegative, value } from '../../../meta/quantity.ts'
import { validateAccessModes } from '../access-modes.ts'
import { immutable } from '../immutable.ts'
import { validateNodeSelector } from '../node-selector.ts'
import { quantityIn, validatePositive } from '../resource-list.ts'
import { SOURCE_FIELDS, validateSource } from './sources.ts'

const SPEC = FieldPath.root('spec')
const RECLAIM_POLICIES = ['Delete', 'Recycle', 'Retain']
const VOLUME_MODES = ['Block', 'Filesystem']

export function validatePersistentVolume(volume: PersistentVolume): FieldError[] {
  const spec = volume.spec ?? {}
  const errors: FieldError[] = []
  if (!spec.accessModes?.length) errors.push(required(SPEC.child('accessModes')))
  errors.push(...validateAccessModes(spec.accessModes ?? [], SPEC.child('accessModes')))
  errors.push(...validateCapacity(spec))
  const policy = spec.persistentVolumeReclaimPolicy
  if (policy && !RECLAIM_POLICIES.includes(policy))
    errors.push(notSupported(SPEC.child('persistentVolumeReclaimPolicy'), policy, RECLAIM_POLICIES))
  errors.push(...validateNodeAffinity(spec), ...validateSources(spec), ...validateClasses(spec))
  if (spec.volumeMode !== undefined && !VOLUME_MODES.includes(spec.volumeMode))
    errors.push(notSupported(SPEC.child('volumeMode'), spec.volumeMode, VOLUME_MODES))
  return errors
}

function validateCapacity({ capacity = {} }: PersistentVolumeSpec): FieldError[] {
  const path = SPEC.child('capacity')
  const names = Object.keys(capacity)
  const errors: FieldError[] = names.length === 0 ? [required(path)] : []
  if (names.length !== 1 || names[0] !== 'storage') errors.push(notSupported(path, capacity, ['storage']))
  for (const name of names) {
    const amount = quantityIn(capacity, name)
    if (amount && isNegative(amount))
      errors.push(invalid(path.key(name), value(amount), 'must be a valid resource quantity'))
    errors.push(...validatePositive(amount, path.key(name)))
  }
  return errors
}

function validateNodeAffinity({ nodeAffinity }: PersistentVolumeSpec): FieldError[] {
  if (!nodeAffinity) return []
  const path = SPEC.child('nodeAffinity', 'required')
  return nodeAffinity.required
    ? validateNodeSelector(nodeAffinity.required, path)
    : [required(path, 'must specify required node constraints')]
}

function validateSources(spec: PersistentVolumeSpec): FieldError[] {
  const [first, ...others] = SOURCE_FIELDS.filter((field) => spec[field] !== undefined)
  if (first === undefined) return [required(SPEC, 'must specify a volume type')]
  const errors = validateSource(spec, first, SPEC.child(first))
  for (const field of others) errors.push(forbidden(SPEC.child(field), 'may not specify more than 1 volume type'))
  if (first === 'local' && !spec.nodeAffinity)
    errors.push(required(SPEC.child('nodeAffinity'), 'Local volume requires node affinity'))
  if (spec.persistentVolumeReclaimPolicy === 'Recycle' && isRoot(spec.hostPath?.path))
    errors.push(
      forbidden(SPEC.child('persistentVolumeReclaimPolicy'), "may not be 'recycle' for a hostPath mount of '/'"),
    )
  return errors
}

const isRoot = (path: string | undefined) =>
  path?.startsWith('/') === true && path.split('/').every((part) => part === '' || part === '.')

function validateClasses(spec: PersistentVolumeSpec): FieldError[] {
  const errors: FieldError[] = []
  const { storageClassName, volumeAttributesClassName: attributes } = spec
  if (storageClassName) errors.push(...validateClassName(storageClassName, SPEC.child('storageClassName')))
  if (attributes === undefined) return errors
  const path = SPEC.child('volumeAttributesClassName')
  if (attributes === '') errors.push(required(path, 'an empty string is disallowed'))
  else errors.push(...validateClassName(attributes, path))
  if (!spec.csi) errors.push(required(SPEC.child('csi'), 'has to be specified when using volumeAttributesClassName'))
  return errors
}

export const validateClassName = (name: string, path: FieldPath): FieldError[] =>
  nameIsDnsSubdomain(name, false).map((message) => invalid(path, name, message))

export function validatePersistentVolumeUpdate(volume: PersistentVolume, old: PersistentVolume): FieldError[] {
  const [spec, oldSpec] = [volume.spec ?? {}, old.spec ?? {}]
  const errors: FieldError[] = []
  if (SOURCE_FIELDS.some((field) => !deepEqual(comparable(spec, oldSpec, field), oldSpec[field])))
    errors.push(
      forbidden(SPEC.child('persistentvolumesource'), 'spec.persistentvolumesource is immutable after creation'),
    )
  errors.push(...immutable(FieldPath.root('volumeMode'), spec.volumeMode, oldSpec.volumeMode))
  if (oldSpec.nodeAffinity && !deepEqual(spec.nodeAffinity, oldSpec.nodeAffinity)) {
    const message = 'field is immutable, except for updating from beta label to GA'
    errors.push(invalid(FieldPath.root('nodeAffinity'), spec.nodeAffinity, message))
  }
  if (oldSpec.volumeAttributesClassName !== undefined && spec.volumeAttributesClassName === undefined)
    errors.push(forbidden(SPEC.child('volumeAttributesClassName'), 'update from non-nil value to nil is forbidden'))
  return errors
}

/** The secret for expansion may still be added to a CSI volume that has none. */
function comparable(spec: PersistentVolumeSpec, old: PersistentVolumeSpec, field: (typeof SOURCE_FIELDS)[number]) {
  if (field !== 'csi' || !spec.csi || !old.csi || old.csi.controllerExpandSecretRef) return spec[field]
  const { controllerExpandSecretRef: _, ...rest } = spec.csi
  return rest
}
