import { type FieldError, invalid, typeInvalid } from '../../api/meta/field-error.ts'
import { FieldPath } from '../../api/meta/field-path.ts'

/** A form of objects: a list has one element, what every element is like. */
type Form = 'text' | 'yes or no' | readonly [Form] | { readonly [field: string]: Form }

const EXPRESSION = { expression: 'text', message: 'text' } as const
const CLAIM = { claim: 'text', expression: 'text' } as const
const CONFIGURATION: Readonly<Record<string, Form>> = {
  kind: 'text',
  apiVersion: 'text',
  jwt: [
    {
      issuer: {
        url: 'text',
        discoveryURL: 'text',
        certificateAuthority: 'text',
        audiences: ['text'],
        audienceMatchPolicy: 'text',
        egressSelectorType: 'text',
      },
      claimValidationRules: [{ ...EXPRESSION, claim: 'text', requiredValue: 'text' }],
      claimMappings: {
        username: { ...CLAIM, prefix: 'text' },
        groups: { ...CLAIM, prefix: 'text' },
        uid: CLAIM,
        extra: [{ key: 'text', valueExpression: 'text' }],
      },
      userValidationRules: [EXPRESSION],
    },
  ],
  anonymous: { enabled: 'yes or no', conditions: [{ path: 'text' }] },
}

/** A name that is not meant, or a value of another form, must not go unnoticed where it decides who somebody is. */
export function unknownFields(configuration: object): FieldError[] {
  return Object.entries(configuration).flatMap(([name, value]) =>
    check(value, CONFIGURATION[name], FieldPath.root(name)),
  )
}

function check(value: unknown, form: Form | undefined, path: FieldPath): FieldError[] {
  if (form === undefined) return [invalid(path, value, 'unknown field')]
  if (value === null || value === undefined) return []
  if (form === 'text') return typeof value === 'string' ? [] : [typeInvalid(path, value, 'must be a string')]
  if (form === 'yes or no') return typeof value === 'boolean' ? [] : [typeInvalid(path, value, 'must be a boolean')]
  if (isList(form)) {
    if (!Array.isArray(value)) return [typeInvalid(path, value, 'must be a list')]
    return value.flatMap((item, i) =>
      item === null ? [typeInvalid(path.index(i), item, 'must not be null')] : check(item, form[0], path.index(i)),
    )
  }
  if (typeof value !== 'object' || Array.isArray(value)) return [typeInvalid(path, value, 'must be an object')]
  return Object.entries(value).flatMap(([name, field]) =>
    check(field, Object.hasOwn(form, name) ? form[name] : undefined, path.child(name)),
  )
}

const isList = (form: Form): form is readonly [Form] => Array.isArray(form)
