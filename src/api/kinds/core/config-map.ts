import { deepEqual } from '../../../base/deep-equal.ts'
import type { ConfigMap } from '../../generated/core-v1.ts'
import { defineKind } from '../../kind.ts'
import { type FieldError, forbidden, invalid, tooLong } from '../../meta/field-error.ts'
import { FieldPath } from '../../meta/field-path.ts'
import { isConfigMapKey } from '../../meta/names.ts'
import { base64Bytes, isBase64 } from './base64.ts'
import { ageColumn, column, nameColumn } from './printed-columns.ts'

const MAX_BYTES = 1024 * 1024
const IMMUTABLE = 'field is immutable when `immutable` is set'
const WHOLE = FieldPath.root('')
const DATA = FieldPath.root('data')
const BINARY_DATA = FieldPath.root('binaryData')

export const configMapKind = defineKind<ConfigMap>({
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  shortNames: ['cm'],
  schema: 'io.k8s.api.core.v1.ConfigMap',
  validate,
  validateUpdate,
  columns: [nameColumn, column('Data', 'How many keys the config map has.', countKeys), ageColumn],
})

function countKeys(configMap: ConfigMap): number {
  return Object.keys(configMap.data ?? {}).length + Object.keys(configMap.binaryData ?? {}).length
}

function validate({ data, binaryData }: ConfigMap): FieldError[] {
  const errors: FieldError[] = []
  let size = 0
  for (const key in data) {
    for (const message of isConfigMapKey(key)) errors.push(invalid(DATA.key(key), key, message))
    if (binaryData !== undefined && Object.hasOwn(binaryData, key))
      errors.push(invalid(DATA.key(key), key, 'duplicate of key present in binaryData'))
    size += Buffer.byteLength(data[key]!)
  }
  for (const key in binaryData) {
    for (const message of isConfigMapKey(key)) errors.push(invalid(BINARY_DATA.key(key), key, message))
    if (!isBase64(binaryData[key]!)) errors.push(invalid(BINARY_DATA.key(key), binaryData[key], 'illegal base64 data'))
    size += base64Bytes(binaryData[key]!)
  }
  if (size > MAX_BYTES) errors.push(tooLong(WHOLE, MAX_BYTES))
  return errors
}

function validateUpdate(configMap: ConfigMap, old: ConfigMap): FieldError[] {
  if (!old.immutable) return []
  const errors: FieldError[] = []
  if (!configMap.immutable) errors.push(forbidden(FieldPath.root('immutable'), IMMUTABLE))
  if (!deepEqual(configMap.data ?? {}, old.data ?? {})) errors.push(forbidden(DATA, IMMUTABLE))
  if (!deepEqual(configMap.binaryData ?? {}, old.binaryData ?? {})) errors.push(forbidden(BINARY_DATA, IMMUTABLE))
  return errors
}
