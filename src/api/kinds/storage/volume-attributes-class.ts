import { deepEqual } from '../../../base/deep-equal.ts'
import type { VolumeAttributesClass } from '../../generated/storage-v1.ts'
import { defineKind } from '../../kind.ts'
import { type FieldError, forbidden, invalid, required } from '../../meta/field-error.ts'
import { FieldPath } from '../../meta/field-path.ts'
import { isQualifiedName } from '../../meta/names.ts'
import { ageColumn, column, nameColumn } from '../core/printed-columns.ts'
import { validateParameters } from './parameters.ts'

const DRIVER = FieldPath.root('driverName')
const PARAMETERS = FieldPath.root('parameters')

export const volumeAttributesClassKind = defineKind<VolumeAttributesClass>({
  group: 'storage.k8s.io',
  version: 'v1',
  kind: 'VolumeAttributesClass',
  plural: 'volumeattributesclasses',
  shortNames: ['vac'],
  namespaced: false,
  schema: 'io.k8s.api.storage.v1.VolumeAttributesClass',
  validate,
  validateUpdate,
  columns: [
    nameColumn,
    column<VolumeAttributesClass>('DriverName', 'The driver that knows the parameters.', (c) => c.driverName ?? ''),
    ageColumn,
  ],
})

function validate({ driverName, parameters }: VolumeAttributesClass): FieldError[] {
  const errors: FieldError[] = driverName
    ? isQualifiedName(driverName.toLowerCase()).map((message) => invalid(DRIVER, driverName, message))
    : [required(DRIVER)]
  errors.push(...validateParameters(parameters, PARAMETERS))
  if (Object.keys(parameters ?? {}).length === 0)
    errors.push(required(PARAMETERS, 'must contain at least one key/value pair'))
  return errors
}

function validateUpdate(attributes: VolumeAttributesClass, old: VolumeAttributesClass): FieldError[] {
  const errors: FieldError[] = []
  if (attributes.driverName !== old.driverName) errors.push(forbidden(DRIVER, 'updates to driverName are forbidden.'))
  if (!deepEqual(attributes.parameters, old.parameters))
    errors.push(forbidden(PARAMETERS, 'updates to parameters are forbidden.'))
  return errors
}
