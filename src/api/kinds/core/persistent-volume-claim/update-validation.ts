import { deepEqual } from '../../../../base/deep-equal.ts'
import type { PersistentVolumeClaim, PersistentVolumeClaimSpec } from '../../../generated/core-v1.ts'
import { type FieldError, forbidden } from '../../../meta/field-error.ts'
import { FieldPath } from '../../../meta/field-path.ts'
import { compareQuantities } from '../../../meta/quantity.ts'
import { ANNOTATION } from '../../../meta/well-known.ts'
import { immutable } from '../immutable.ts'
import { quantityIn } from '../resource-list.ts'

const SPEC = FieldPath.root('spec')
const STORAGE = SPEC.child('resources', 'requests', 'storage')
const IMMUTABLE =
  'spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims'

/** A claim stays as it was written; once bound it may grow and change its attributes class. */
export function validateClaimUpdate(claim: PersistentVolumeClaim, old: PersistentVolumeClaim): FieldError[] {
  const [spec, oldSpec] = [claim.spec ?? {}, old.spec ?? {}]
  const errors: FieldError[] = []
  if (!deepEqual(withAllowedChanges(claim, old), oldSpec)) errors.push(forbidden(SPEC, IMMUTABLE))
  errors.push(...validateShrinking(claim, old))
  errors.push(...immutable(FieldPath.root('volumeMode'), spec.volumeMode, oldSpec.volumeMode))
  errors.push(...validateAttributesClass(claim, old))
  return errors
}

/** The new spec with everything that may change put back to what it was. */
function withAllowedChanges(claim: PersistentVolumeClaim, old: PersistentVolumeClaim): PersistentVolumeClaimSpec {
  const oldSpec = old.spec ?? {}
  const spec: PersistentVolumeClaimSpec = { ...claim.spec }
  if (!oldSpec.volumeName) restore(spec, oldSpec, 'volumeName')
  if (gainsDefaultClass(claim, old)) delete spec.storageClassName
  if (claim.status?.phase !== 'Bound') return spec
  restore(spec, oldSpec, 'volumeAttributesClassName')
  if (spec.resources?.requests) {
    const requests = { ...spec.resources.requests }
    const storage = oldSpec.resources?.requests?.storage
    if (storage === undefined) delete requests.storage
    else requests.storage = storage
    spec.resources = { ...spec.resources, requests }
  }
  return spec
}

/** A claim without a class gets the default class when one appears later. */
const gainsDefaultClass = (claim: PersistentVolumeClaim, old: PersistentVolumeClaim) =>
  old.metadata.annotations?.[ANNOTATION.betaStorageClass] === undefined &&
  old.spec?.storageClassName === undefined &&
  claim.spec?.storageClassName !== undefined

function restore(
  spec: PersistentVolumeClaimSpec,
  old: PersistentVolumeClaimSpec,
  field: 'volumeName' | 'volumeAttributesClassName',
): void {
  if (old[field] === undefined) delete spec[field]
  else spec[field] = old[field]
}

/** A failed expansion may be taken back, but never below what the volume already has. */
function validateShrinking(claim: PersistentVolumeClaim, old: PersistentVolumeClaim): FieldError[] {
  const size = quantityIn(claim.spec?.resources?.requests, 'storage')
  const oldSize = quantityIn(old.spec?.resources?.requests, 'storage')
  if (!size || !oldSize || compareQuantities(size, oldSize) >= 0) return []
  const actual = quantityIn(old.status?.capacity, 'storage')
  if (!actual || compareQuantities(size, actual) > 0) return []
  return [forbidden(STORAGE, 'field can not be less than status.capacity')]
}

function validateAttributesClass(claim: PersistentVolumeClaim, old: PersistentVolumeClaim): FieldError[] {
  const name = claim.spec?.volumeAttributesClassName
  const current = old.status?.currentVolumeAttributesClassName
  if (name === old.spec?.volumeAttributesClassName || current === undefined || name) return []
  const target = name === undefined ? 'nil' : 'empty string'
  const message = `update to ${target} is forbidden when status.currentVolumeAttributesClassName is not nil`
  return [forbidden(SPEC.child('volumeAttributesClassName'), message)]
}
