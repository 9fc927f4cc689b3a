import type { JSONSchemaProps } from '../../api/generated/apiextensions-v1.ts'
import type { FieldError } from '../../api/meta/field-error.ts'
import type { FieldPath } from '../../api/meta/field-path.ts'
import type { Re2 } from '../../base/re2.ts'
import type { CelRules } from './rules.ts'

export function celRules(_props: JSONSchemaProps, _re2: Re2): CelRules | undefined {
  return undefined
}

export function checkRules(
  _props: JSONSchemaProps,
  _before: JSONSchemaProps | undefined,
  _path: FieldPath,
  _re2: Re2,
): FieldError[] {
  return []
}
