import type { EphemeralVolumeSource, PersistentVolumeClaimTemplate } from '../../../generated/core-v1.ts'
import { type FieldError, forbidden, invalid, notSupported, required, tooLong } from '../../../meta/field-error.ts'
import type { FieldPath } from '../../../meta/field-path.ts'
import { validateLabels } from '../../../meta/labels-validation.ts'
import { isDns1123Subdomain, isQualifiedName } from '../../../meta/names.ts'
import { isNegative, isZero, parseQuantity } from '../../../meta/quantity.ts'
import { validateSelector } from './label-selectors.ts'
import { refuse, refuseField } from './pod-check.ts'

const ACCESS_MODES = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod']
const VOLUME_MODES = ['Block', 'Filesystem']
const MAX_DRIVER_NAME = 63

export function checkCsiDriverName(driver: string, path: FieldPath, errors: FieldError[]): void {
  if (driver === '') errors.push(required(path))
  else if (driver.length > MAX_DRIVER_NAME) errors.push(tooLong(path, MAX_DRIVER_NAME))
  refuse(errors, path, driver, driver === '' ? [] : isDns1123Subdomain(driver.toLowerCase()))
}

/** A volume whose claim lives and dies with the pod. */
export function validateEphemeralVolume(ephemeral: EphemeralVolumeSource, path: FieldPath, errors: FieldError[]): void {
  const template = ephemeral.volumeClaimTemplate
  if (!template) errors.push(required(path.child('volumeClaimTemplate')))
  else validateClaimTemplate(template, path.child('volumeClaimTemplate'), errors)
}

/** A claim made for each pod: of an ephemeral volume, or of a StatefulSet. */
export function validateClaimTemplate(
  template: PersistentVolumeClaimTemplate,
  path: FieldPath,
  errors: FieldError[],
): void {
  const { metadata, spec } = template
  errors.push(...validateLabels(metadata?.labels, path.child('metadata', 'labels')))
  for (const key in metadata?.annotations)
    refuse(errors, path.child('metadata', 'annotations'), key, isQualifiedName(key.toLowerCase()))
  validateClaimSpec(spec ?? {}, path.child('spec'), errors)
}

type ClaimSpec = NonNullable<PersistentVolumeClaimTemplate['spec']>

export function validateClaimSpec(spec: ClaimSpec, path: FieldPath, errors: FieldError[]): void {
  const { accessModes = [], storageClassName, volumeMode, resources } = spec
  if (accessModes.length === 0) errors.push(required(path.child('accessModes'), 'at least 1 access mode is required'))
  validateSelector(spec.selector, path.child('selector'), errors)
  for (const mode of accessModes)
    if (!ACCESS_MODES.includes(mode)) errors.push(notSupported(path.child('accessModes'), mode, ACCESS_MODES))
  if (accessModes.length > 1 && accessModes.includes('ReadWriteOncePod'))
    errors.push(forbidden(path.child('accessModes'), 'may not use ReadWriteOncePod with other access modes'))
  checkStorage(resources?.requests?.storage, path.child('resources'), errors)
  if (storageClassName)
    refuseField(errors, path, 'storageClassName', storageClassName, isDns1123Subdomain(storageClassName))
  if (volumeMode !== undefined && !VOLUME_MODES.includes(volumeMode))
    errors.push(notSupported(path.child('volumeMode'), volumeMode, VOLUME_MODES))
}

function checkStorage(size: string | number | undefined, path: FieldPath, errors: FieldError[]): void {
  if (size === undefined) {
    errors.push(required(path.key('storage')))
    return
  }
  const quantity = parseQuantity(String(size))
  if (!quantity || isNegative(quantity) || isZero(quantity))
    errors.push(invalid(path.key('storage'), String(size), 'must be greater than zero'))
}
