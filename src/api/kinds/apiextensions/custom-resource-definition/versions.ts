import type {
  CustomResourceColumnDefinition,
  CustomResourceDefinitionVersion,
  CustomResourceSubresourceScale,
  SelectableField,
} from '../../../generated/apiextensions-v1.ts'
import { duplicate, type FieldError, invalid, required, tooMany } from '../../../meta/field-error.ts'
import type { FieldPath } from '../../../meta/field-path.ts'
import { isDns1035Label } from '../../../meta/names.ts'
import { validateOpenApiSchema } from './schema-validation.ts'

const COLUMN_TYPES = ['boolean', 'date', 'integer', 'number', 'string']
const COLUMN_FORMATS = ['binary', 'byte', 'date', 'date-time', 'double', 'float', 'int32', 'int64', 'password']
const MAX_SELECTABLE_FIELDS = 8
const MAX_WARNING = 256

export function validateVersions(versions: readonly CustomResourceDefinitionVersion[], path: FieldPath): FieldError[] {
  const errors = versions.flatMap((version, index) => validateVersion(version, path.index(index)))
  if (new Set(versions.map((version) => version.name)).size < versions.length)
    errors.push(invalid(path, versions, 'must contain unique version names'))
  if (versions.filter((version) => version.storage).length !== 1)
    errors.push(invalid(path, versions, 'must have exactly one version marked as storage version'))
  return errors
}

function validateVersion(version: CustomResourceDefinitionVersion, path: FieldPath): FieldError[] {
  const errors: FieldError[] = []
  const wrongName = isDns1035Label(version.name ?? '')
  if (wrongName.length > 0) errors.push(invalid(path.child('name'), version.name ?? '', wrongName.join(',')))
  errors.push(...validateDeprecation(version, path.child('deprecationWarning')))
  const schema = version.schema?.openAPIV3Schema
  const at = path.child('schema', 'openAPIV3Schema')
  if (schema) errors.push(...validateOpenApiSchema(schema, at))
  else errors.push(required(at))
  if (version.subresources?.scale) errors.push(...validateScale(version.subresources.scale, path.child('subresources')))
  version.additionalPrinterColumns?.forEach((column, index) => {
    errors.push(...validateColumn(column, path.child('additionalPrinterColumns').index(index)))
  })
  errors.push(...validateSelectableFields(version.selectableFields ?? [], path.child('selectableFields')))
  return errors
}

function validateDeprecation(version: CustomResourceDefinitionVersion, path: FieldPath): FieldError[] {
  const { deprecated, deprecationWarning: warning } = version
  if (warning === undefined) return []
  const refuse = (message: string) => [invalid(path, warning, message)]
  if (!deprecated) return refuse('can only be set for deprecated versions')
  if (Buffer.byteLength(warning) > MAX_WARNING) return refuse(`must be <= ${MAX_WARNING} characters long`)
  if (warning === '') return refuse('must not be an empty string')
  const control = warning.search(/\p{C}/u)
  return control < 0
    ? []
    : refuse(`must only contain printable UTF-8 characters; non-printable character found at index ${control}`)
}

function validateScale(scale: CustomResourceSubresourceScale, path: FieldPath): FieldError[] {
  const errors: FieldError[] = []
  for (const [field, roots, under] of SCALE_PATHS) {
    const value = scale[field] ?? ''
    const at = path.child(`scale.${field}`)
    if (value === '') {
      if (field !== 'labelSelectorPath') errors.push(required(at))
      continue
    }
    const wrong = validateSimplePath(value, at)
    if (wrong.length > 0) errors.push(...wrong)
    else if (!roots.some((root) => value.startsWith(root)))
      errors.push(invalid(at, value, `should be a json path under ${under}`))
  }
  return errors
}

const SCALE_PATHS = [
  ['specReplicasPath', ['.spec.'], '.spec'],
  ['statusReplicasPath', ['.status.'], '.status'],
  ['labelSelectorPath', ['.spec.', '.status.'], 'either .spec or .status'],
] as const

function validateColumn(column: CustomResourceColumnDefinition, path: FieldPath): FieldError[] {
  const { name, type = '', format = '', jsonPath = '' } = column
  const errors: FieldError[] = []
  const types = `must be one of ${COLUMN_TYPES.join(',')}`
  if (!name) errors.push(required(path.child('name')))
  if (type === '') errors.push(required(path.child('type'), types))
  else if (!COLUMN_TYPES.includes(type)) errors.push(invalid(path.child('type'), type, types))
  if (format !== '' && !COLUMN_FORMATS.includes(format))
    errors.push(invalid(path.child('format'), format, `must be one of ${COLUMN_FORMATS.join(',')}`))
  if (jsonPath === '') errors.push(required(path.child('JSONPath')))
  else errors.push(...validateSimplePath(jsonPath, path.child('JSONPath')))
  return errors
}

function validateSelectableFields(fields: readonly SelectableField[], path: FieldPath): FieldError[] {
  const errors: FieldError[] = []
  const seen = new Set<string>()
  fields.forEach(({ jsonPath = '' }, index) => {
    const at = path.index(index).child('jsonPath')
    if (jsonPath === '') errors.push(required(at))
    else if (jsonPath.startsWith('.metadata'))
      errors.push(invalid(at, jsonPath, 'must not point to fields in metadata'))
    else if (seen.has(jsonPath)) errors.push(duplicate(at, jsonPath))
    seen.add(jsonPath)
  })
  if (seen.size > MAX_SELECTABLE_FIELDS) errors.push(tooMany(path, seen.size, MAX_SELECTABLE_FIELDS))
  return errors
}

function validateSimplePath(text: string, path: FieldPath): FieldError[] {
  return text.startsWith('.') ? [] : [invalid(path, text, 'must be a simple json path starting with .')]
}
