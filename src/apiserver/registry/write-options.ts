import { ApiError } from '../../api/meta/api-error.ts'
import type { FieldError } from '../../api/meta/field-error.ts'
import { notSupported } from '../../api/meta/field-error.ts'
import { FieldPath } from '../../api/meta/field-path.ts'
import { validateFieldManager } from '../../api/meta/object-meta-validation.ts'
import type { ResourceRequest } from '../request/resource-request.ts'

export type FieldValidation = 'Ignore' | 'Warn' | 'Strict'

export interface WriteOptions {
  readonly dryRun: boolean
  readonly fieldValidation: FieldValidation
  readonly fieldManager: string
  readonly force: boolean
}

const FIELD_VALIDATION = ['Ignore', 'Strict', 'Warn']

export function parseWriteOptions(request: ResourceRequest, optionsKind: string): WriteOptions {
  const { query } = request
  const errors: FieldError[] = []
  const dryRun = query.get('dryRun')
  if (dryRun !== '' && dryRun !== 'All') errors.push(notSupported(FieldPath.root('dryRun'), dryRun, ['All']))
  const validation = query.get('fieldValidation')
  if (validation !== '' && !FIELD_VALIDATION.includes(validation)) {
    errors.push(notSupported(FieldPath.root('fieldValidation'), validation, FIELD_VALIDATION))
  }
  const manager = query.get('fieldManager')
  if (manager !== '') errors.push(...validateFieldManager(manager, FieldPath.root('fieldManager')))
  if (errors.length > 0) throw invalidOptions(optionsKind, errors)
  return {
    dryRun: dryRun === 'All',
    fieldValidation: (validation || 'Warn') as FieldValidation,
    fieldManager: manager || managerFromUserAgent(request.userAgent),
    force: query.flag('force'),
  }
}

/** The options of a write as those see them who are asked about it. */
export function admissionOptions(
  kind: 'CreateOptions' | 'UpdateOptions' | 'PatchOptions',
  { query }: ResourceRequest,
  { dryRun, force }: WriteOptions,
): Readonly<Record<string, unknown>> {
  const [fieldManager, fieldValidation] = [query.get('fieldManager'), query.get('fieldValidation')]
  return {
    kind,
    apiVersion: 'meta.k8s.io/v1',
    ...(dryRun && { dryRun: ['All'] }),
    ...(force && { force }),
    ...(fieldManager && { fieldManager }),
    ...(fieldValidation && { fieldValidation }),
  }
}

/** `kubectl/v1.33.1 (linux/amd64)` -> `kubectl` */
function managerFromUserAgent(userAgent: string): string {
  const slash = userAgent.indexOf('/')
  const name = (slash < 0 ? userAgent : userAgent.slice(0, slash)).replace(/[^\x21-\x7e ]/g, '')
  return name.slice(0, 128) || 'unknown'
}

export function invalidOptions(kind: string, errors: readonly FieldError[]): ApiError {
  const lines = errors.map((error) => `${error.field}: ${error.message}`)
  const text = lines.length === 1 ? lines[0] : `[${lines.join(', ')}]`
  return new ApiError(422, 'Invalid', `${kind}.meta.k8s.io "" is invalid: ${text}`, {
    group: 'meta.k8s.io',
    kind,
    causes: errors.map(({ reason, message, field }) => ({ reason, message, field })),
  })
}
