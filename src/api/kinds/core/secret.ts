import { deepEqual } from '../../../base/deep-equal.ts'
import type { Secret } from '../../generated/core-v1.ts'
import { defineKind } from '../../kind.ts'
import { type FieldError, forbidden, invalid, required, tooLong } from '../../meta/field-error.ts'
import { FieldPath } from '../../meta/field-path.ts'
import { isConfigMapKey } from '../../meta/names.ts'
import { ANNOTATION, SECRET_TYPE } from '../../meta/well-known.ts'
import { base64Bytes, isBase64 } from './base64.ts'
import { immutable } from './immutable.ts'
import { ageColumn, column, nameColumn } from './printed-columns.ts'
import { tlsSecretWarnings } from './tls-secret.ts'

const MAX_BYTES = 1024 * 1024
const IMMUTABLE = 'field is immutable when `immutable` is set'
/** A secret's value is never repeated in a message. */
const REDACTED = '<secret contents redacted>'
const DATA = FieldPath.root('data')

export const secretKind = defineKind<Secret>({
  group: '',
  version: 'v1',
  kind: 'Secret',
  plural: 'secrets',
  schema: 'io.k8s.api.core.v1.Secret',
  defaults,
  validate,
  validateUpdate,
  warnings: tlsSecretWarnings,
  selectableFields: { type: (secret) => secret.type ?? '' },
  columns: [
    nameColumn,
    column<Secret>('Type', 'What the secret is for.', (secret) => secret.type ?? ''),
    column<Secret>('Data', 'How many keys the secret has.', (secret) => Object.keys(secret.data ?? {}).length),
    ageColumn,
  ],
})

function defaults(draft: Secret): void {
  draft.type ||= 'Opaque'
  if (draft.stringData === undefined) return
  const data: Record<string, string> = { ...draft.data }
  for (const key in draft.stringData) data[key] = Buffer.from(draft.stringData[key]!).toString('base64')
  if (Object.keys(data).length > 0) draft.data = data
  delete draft.stringData
}

function validate(secret: Secret): FieldError[] {
  const { data } = secret
  const errors: FieldError[] = []
  let size = 0
  for (const key in data) {
    for (const message of isConfigMapKey(key)) errors.push(invalid(DATA.key(key), key, message))
    if (!isBase64(data[key]!)) errors.push(invalid(DATA.key(key), REDACTED, 'illegal base64 data'))
    size += base64Bytes(data[key]!)
  }
  if (size > MAX_BYTES) errors.push(tooLong(DATA, MAX_BYTES))
  errors.push(...(TYPE_RULES[secret.type ?? '']?.(secret) ?? []))
  return errors
}

const has = (secret: Secret, key: string) => secret.data !== undefined && Object.hasOwn(secret.data, key)
const missing = (secret: Secret, ...keys: string[]) =>
  keys.filter((key) => !has(secret, key)).map((key) => required(DATA.key(key)))

/** What each well-known type of secret must hold. */
const TYPE_RULES: Readonly<Record<string, (secret: Secret) => FieldError[]>> = {
  [SECRET_TYPE.serviceAccountToken]: (secret) =>
    secret.metadata.annotations?.[ANNOTATION.serviceAccountName]
      ? []
      : [required(FieldPath.root('metadata').child('annotations').key(ANNOTATION.serviceAccountName))],
  'kubernetes.io/dockercfg': (secret) => validateJson(secret, '.dockercfg'),
  [SECRET_TYPE.dockerConfigJson]: (secret) => validateJson(secret, '.dockerconfigjson'),
  'kubernetes.io/basic-auth': (secret) =>
    has(secret, 'username') || has(secret, 'password') ? [] : missing(secret, 'username', 'password'),
  'kubernetes.io/ssh-auth': (secret) => (secret.data?.['ssh-privatekey'] ? [] : [required(DATA.key('ssh-privatekey'))]),
  [SECRET_TYPE.tls]: (secret) => missing(secret, 'tls.crt', 'tls.key'),
}

function validateJson(secret: Secret, key: string): FieldError[] {
  if (!has(secret, key)) return missing(secret, key)
  try {
    const value: unknown = JSON.parse(Buffer.from(secret.data?.[key] ?? '', 'base64').toString())
    if (typeof value === 'object' && !Array.isArray(value)) return []
    return [invalid(DATA.key(key), REDACTED, 'must be a JSON object')]
  } catch {
    return [invalid(DATA.key(key), REDACTED, 'must be valid JSON')]
  }
}

function validateUpdate(secret: Secret, old: Secret): FieldError[] {
  const errors = immutable(FieldPath.root('type'), secret.type, old.type)
  if (!old.immutable) return errors
  if (!secret.immutable) errors.push(forbidden(FieldPath.root('immutable'), IMMUTABLE))
  if (!deepEqual(secret.data ?? {}, old.data ?? {})) errors.push(forbidden(DATA, IMMUTABLE))
  return errors
}
