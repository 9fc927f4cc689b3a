import type {
  EnvFromSource,
  EnvVar,
  EnvVarSource,
  ObjectFieldSelector,
  ResourceFieldSelector,
} from '../../../generated/core-v1.ts'
import { type FieldError, invalid, notSupported, required } from '../../../meta/field-error.ts'
import type { FieldPath } from '../../../meta/field-path.ts'
import { isConfigMapKey, isDns1123Subdomain, isQualifiedName, isRelaxedEnvVarName } from '../../../meta/names.ts'
import { canonicalQuantity } from '../../../meta/quantity.ts'
import { refuse, refuseField } from './pod-check.ts'
import { checkRelativePath } from './volume-paths.ts'

const ENV_FIELDS = [
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.serviceAccountName',
  'status.hostIP',
  'status.hostIPs',
  'status.podIP',
  'status.podIPs',
]
export const VOLUME_FIELDS = [
  'metadata.annotations',
  'metadata.labels',
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
]
/** What the API knows as a field of a pod at all, whether or not it may be used here. */
const KNOWN_FIELDS = new Set([
  ...ENV_FIELDS,
  ...VOLUME_FIELDS,
  'spec.restartPolicy',
  'spec.schedulerName',
  'status.phase',
])
const RESOURCE_FIELDS = [
  'limits.cpu',
  'limits.ephemeral-storage',
  'limits.memory',
  'requests.cpu',
  'requests.ephemeral-storage',
  'requests.memory',
]
const CPU_DIVISORS = new Set(['1m', '1'])
const SIZES = '1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei'
const SIZE_DIVISORS = new Set(SIZES.split(', '))

export function validateEnv(variables: readonly EnvVar[], path: FieldPath, errors: FieldError[]): void {
  for (let i = 0; i < variables.length; i++) {
    const variable = variables[i]!
    const at = path.index(i)
    if (!variable.name) errors.push(required(at.child('name')))
    else refuseField(errors, at, 'name', variable.name, isRelaxedEnvVarName(variable.name))
    if (variable.valueFrom) checkValueFrom(variable, variable.valueFrom, at.child('valueFrom'), errors)
  }
}

/** Where the value of a variable may come from, and how each place is checked. */
const VALUE_SOURCES: {
  readonly [K in keyof EnvVarSource]-?: (
    source: NonNullable<EnvVarSource[K]>,
    path: FieldPath,
    errors: FieldError[],
  ) => void
} = {
  fieldRef: (ref, path, errors) => validateFieldRef(ref, ENV_FIELDS, path, errors),
  resourceFieldRef: (ref, path, errors) => validateResourceFieldRef(ref, path, false, errors),
  configMapKeyRef: (ref, path, errors) => checkKeyRef(ref, path, errors),
  secretKeyRef: (ref, path, errors) => checkKeyRef(ref, path, errors),
  fileKeyRef: (ref, path, errors) => checkFileKeyRef(ref, path, errors),
}
const NO_SOURCE =
  'must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`'

function checkValueFrom(variable: EnvVar, source: EnvVarSource, path: FieldPath, errors: FieldError[]): void {
  const given = (Object.keys(VALUE_SOURCES) as (keyof EnvVarSource)[]).filter((field) => source[field])
  for (const field of given) VALUE_SOURCES[field](source[field] as never, path.child(field), errors)
  if (given.length === 0) errors.push(invalid(path, '', NO_SOURCE))
  else if (variable.value) errors.push(invalid(path, '', 'may not be specified when `value` is not empty'))
  else if (given.length > 1) errors.push(invalid(path, '', 'may not have more than one field specified at a time'))
}

function checkKeyRef(ref: { name?: string; key?: string }, path: FieldPath, errors: FieldError[]): void {
  refuseField(errors, path, 'name', ref.name ?? '', isDns1123Subdomain(ref.name ?? ''))
  if (!ref.key) errors.push(required(path.child('key')))
  else refuseField(errors, path, 'key', ref.key, isConfigMapKey(ref.key))
}

function checkFileKeyRef(ref: NonNullable<EnvVarSource['fileKeyRef']>, path: FieldPath, errors: FieldError[]): void {
  if (!ref.key) errors.push(required(path.child('key')))
  else refuseField(errors, path, 'key', ref.key, isRelaxedEnvVarName(ref.key))
  if (!ref.volumeName) errors.push(required(path.child('volumeName')))
  if (!ref.path) errors.push(required(path.child('path')))
  else checkRelativePath(ref.path, path.child('path'), errors)
}

export function validateEnvFrom(sources: readonly EnvFromSource[], path: FieldPath, errors: FieldError[]): void {
  sources.forEach((source, i) => {
    const at = path.index(i)
    if (source.prefix) refuseField(errors, at, 'prefix', source.prefix, isRelaxedEnvVarName(source.prefix))
    for (const field of ['configMapRef', 'secretRef'] as const) {
      const ref = source[field]
      if (!ref) continue
      if (!ref.name) errors.push(required(at.child(field, 'name')))
      else refuse(errors, at.child(field, 'name'), ref.name, isDns1123Subdomain(ref.name))
    }
    if (!source.configMapRef && !source.secretRef)
      errors.push(invalid(path, '', 'must specify one of: `configMapRef` or `secretRef`'))
    else if (source.configMapRef && source.secretRef)
      errors.push(invalid(path, '', 'may not have more than one field specified at a time'))
  })
}

/** A field of the pod, of those that may be used where this stands. */
export function validateFieldRef(
  ref: ObjectFieldSelector,
  allowed: readonly string[],
  path: FieldPath,
  errors: FieldError[],
): void {
  const { fieldPath = '' } = ref
  if (!ref.apiVersion) errors.push(required(path.child('apiVersion')))
  else if (fieldPath === '') errors.push(required(path.child('fieldPath')))
  else checkFieldPath(ref.apiVersion, fieldPath, allowed, path, errors)
}

const SUBSCRIPT = /^([^[]+)\['([^']*)'\]$/

function checkFieldPath(
  apiVersion: string,
  fieldPath: string,
  allowed: readonly string[],
  path: FieldPath,
  errors: FieldError[],
): void {
  const failed = (text: string) =>
    errors.push(invalid(path.child('fieldPath'), fieldPath, `error converting fieldPath: ${text}`))
  if (apiVersion !== 'v1') {
    failed(`unsupported pod version: ${apiVersion}`)
    return
  }
  const match = SUBSCRIPT.exec(fieldPath)
  if (match) {
    const [, field, key] = match as unknown as [string, string, string]
    if (field === 'metadata.annotations') refuse(errors, path, key.toLowerCase(), isQualifiedName(key.toLowerCase()))
    else if (field === 'metadata.labels') refuse(errors, path, key, isQualifiedName(key))
    else failed(`field label does not support subscript: ${fieldPath}`)
    return
  }
  if (!KNOWN_FIELDS.has(fieldPath)) failed(`field label not supported: ${fieldPath}`)
  else if (!allowed.includes(fieldPath)) errors.push(notSupported(path.child('fieldPath'), fieldPath, allowed))
}

/** A request or limit of a container; in a volume the container must be named. */
export function validateResourceFieldRef(
  ref: ResourceFieldSelector,
  path: FieldPath,
  inVolume: boolean,
  errors: FieldError[],
): void {
  const { resource = '' } = ref
  if (inVolume && !ref.containerName) errors.push(required(path.child('containerName')))
  else if (resource === '') errors.push(required(path.child('resource')))
  else if (!RESOURCE_FIELDS.includes(resource) && !/^(?:limits|requests)\.hugepages-/.test(resource))
    errors.push(notSupported(path.child('resource'), resource, RESOURCE_FIELDS))
  checkDivisor(ref, path.child('divisor'), errors)
}

function checkDivisor(ref: ResourceFieldSelector, path: FieldPath, errors: FieldError[]): void {
  if (ref.divisor === undefined) return
  const { resource = '' } = ref
  const divisor = canonicalQuantity(String(ref.divisor))
  if (divisor === undefined || divisor === '0') return
  const name = resource.slice(resource.indexOf('.') + 1)
  if (name === 'cpu') {
    if (!CPU_DIVISORS.has(divisor))
      errors.push(invalid(path, resource, "only divisor's values 1m and 1 are supported with the cpu resource"))
    return
  }
  const kind =
    name === 'ephemeral-storage' ? 'local ephemeral storage' : name.startsWith('hugepages-') ? 'hugepages' : name
  if (!SIZE_DIVISORS.has(divisor))
    errors.push(invalid(path, resource, `only divisor's values ${SIZES} are supported with the ${kind} resource`))
}
