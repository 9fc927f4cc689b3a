import type { JSONSchemaProps } from '../../api/generated/apiextensions-v1.ts'
import { type FieldError, required } from '../../api/meta/field-error.ts'
import { FieldPath } from '../../api/meta/field-path.ts'
import type { KubernetesObject } from '../../api/meta/object.ts'
import { validateObjectMeta } from '../../api/meta/object-meta-validation.ts'
import type { Schema } from '../../api/schema/schema.ts'
import { validateValues } from '../../api/schema/validate-values.ts'
import type { Re2 } from '../../base/re2.ts'
import { ratchet } from './ratchet.ts'
import { embeds } from './structural-schema.ts'

/** Checks of a custom resource beyond its shape: values, embedded objects, and rules in CEL. */
export interface CustomRules {
  validate(object: KubernetesObject, old: KubernetesObject | undefined): FieldError[]
}

/** CEL rules of a schema, made ready; see `cel-rules.ts`. */
export interface CelRules {
  validate(object: KubernetesObject, old: KubernetesObject | undefined): FieldError[]
}

/** Engines that are only loaded for schemas that need them. */
export interface RuleEngines {
  readonly re2: Re2 | undefined
  readonly celRules: ((props: JSONSchemaProps) => CelRules | undefined) | undefined
  /** What is wrong with the rules of a schema, one after the other; those that the schema had before are taken as they are. */
  readonly checkRules:
    | ((props: JSONSchemaProps, before: JSONSchemaProps | undefined, path: FieldPath) => Iterable<FieldError[]>)
    | undefined
}

export function customRules(rules: Schema, props: () => JSONSchemaProps, engines: RuleEngines): CustomRules {
  const { re2 } = engines
  const matches = (pattern: string, text: string) => re2?.matches(pattern, text) ?? true
  let cel: CelRules | undefined | null = null
  return {
    validate(object, old) {
      const errors = [...validateValues(object, rules, matches), ...validateEmbedded(object, rules, undefined)]
      const kept = old && errors.length > 0 ? ratchet(errors, object, old, rules) : errors
      if (cel === null) cel = engines.celRules?.(props())
      // Rules are written for objects of the right shape, so they wait for it.
      if (cel === undefined || kept.some(isAboutShape)) return kept
      return [...kept, ...cel.validate(object, old)]
    },
  }
}

const isAboutShape = (error: FieldError) =>
  error.reason === 'FieldValueTypeInvalid' ||
  error.reason === 'FieldValueTooMany' ||
  error.reason === 'FieldValueTooLong'

/** Whole objects inside of the object must say what they are. */
function validateEmbedded(value: unknown, schema: Schema, path: FieldPath | undefined): FieldError[] {
  if (!embeds(schema) || typeof value !== 'object' || value === null) return []
  if (Array.isArray(value)) {
    const { items } = schema
    return items ? value.flatMap((item, i) => validateEmbedded(item, items, path?.index(i))) : []
  }
  const object = value as Record<string, unknown>
  const errors = schema.embeddedResource && path ? checkObject(object, path) : []
  for (const [name, field] of Object.entries(object)) {
    const below = schema.properties?.[name] ?? schema.additionalProperties
    if (below) errors.push(...validateEmbedded(field, below, path?.child(name) ?? FieldPath.root(name)))
  }
  return errors
}

function checkObject(object: Record<string, unknown>, path: FieldPath): FieldError[] {
  const errors: FieldError[] = []
  if (!object.apiVersion) errors.push(required(path.child('apiVersion'), 'must not be empty'))
  if (!object.kind) errors.push(required(path.child('kind'), 'must not be empty'))
  if (typeof object.metadata !== 'object' || object.metadata === null) return errors
  const rules = { namespaced: 'namespace' in object.metadata, validateName: () => [], standardFinalizersOnly: false }
  // Names are the business of whoever makes the object of it.
  const found = validateObjectMeta(object.metadata, rules, path.child('metadata'))
  return [...errors, ...found.filter((error) => !/\.(name|generateName|namespace)$/.test(error.field))]
}
