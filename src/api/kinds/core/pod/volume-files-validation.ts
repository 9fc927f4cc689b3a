import type { DownwardAPIVolumeFile, KeyToPath } from '../../../generated/core-v1.ts'
import { type FieldError, invalid, required } from '../../../meta/field-error.ts'
import type { FieldPath } from '../../../meta/field-path.ts'
import { VOLUME_FIELDS, validateFieldRef, validateResourceFieldRef } from './env-validation.ts'
import { checkFilePath } from './volume-paths.ts'

const FILE_MODE = 'must be a number between 0 and 0777 (octal), both inclusive'

export function checkMode(mode: number | undefined, path: FieldPath, errors: FieldError[]): void {
  if (mode !== undefined && (mode < 0 || mode > 0o777)) errors.push(invalid(path, mode, FILE_MODE))
}

/** Keys of a ConfigMap or Secret as files. */
export function validateItems(items: readonly KeyToPath[] | undefined, path: FieldPath, errors: FieldError[]): void {
  items?.forEach((item, i) => {
    const at = path.index(i)
    if (!item.key) errors.push(required(at.child('key')))
    if (!item.path) errors.push(required(at.child('path')))
    else checkFilePath(item.path, at.child('path'), errors)
    checkMode(item.mode, at.child('mode'), errors)
  })
}

export function validateDownwardFile(file: DownwardAPIVolumeFile, path: FieldPath, errors: FieldError[]): void {
  if (!file.path) errors.push(required(path.child('path')))
  else checkFilePath(file.path, path.child('path'), errors)
  if (file.fieldRef) {
    validateFieldRef(file.fieldRef, VOLUME_FIELDS, path.child('fieldRef'), errors)
    if (file.resourceFieldRef)
      errors.push(invalid(path, 'resource', 'fieldRef and resourceFieldRef can not be specified simultaneously'))
  } else if (file.resourceFieldRef)
    validateResourceFieldRef(file.resourceFieldRef, path.child('resourceFieldRef'), true, errors)
  else errors.push(required(path, 'one of fieldRef and resourceFieldRef is required'))
  checkMode(file.mode, path.child('mode'), errors)
}
