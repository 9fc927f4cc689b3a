import type { Schema } from './schema.ts'
import { STRING_FORMATS } from './value-formats.ts'

/** The types of JSON, one bit each, so that a schema's type is one mask. */
export const TYPE = { null: 1, boolean: 2, integer: 4, number: 8, string: 16, array: 32, object: 64 } as const

const ANY_TYPE = 127

/** The rules of a schema made ready for `isValidValue`, like `Plan`: of one shape, and what is below when needed. */
export interface ValuePlan {
  readonly schema: Schema
  isOpen: boolean
  /** Bits of the types that are allowed. */
  readonly types: number
  /** Values of an enum that are no objects or lists; undefined if there is no such enum. */
  readonly scalars: ReadonlySet<unknown> | undefined
  /** An enum with objects or lists in it, which are compared as texts. */
  readonly hasDeepEnum: boolean
  readonly hasNumberRules: boolean
  readonly hasLengths: boolean
  readonly pattern: string | undefined
  readonly format: ((text: string) => boolean) | undefined
  fields: ReadonlyMap<string, ValuePlan> | undefined
  values: ValuePlan | undefined
  items: ValuePlan | undefined
  readonly required: readonly string[]
  readonly hasSizes: boolean
  /** What must differ between the items of a list. */
  readonly unique: 'nothing' | 'item' | 'keys'
  allOf: readonly ValuePlan[] | undefined
  anyOf: readonly ValuePlan[] | undefined
  oneOf: readonly ValuePlan[] | undefined
  not: ValuePlan | undefined
}

const plans = new WeakMap<Schema, ValuePlan>()

/** The plan of a schema, made once. */
export function valuePlanOf(schema: Schema): ValuePlan {
  const known = plans.get(schema)
  if (known !== undefined) return known
  const plan = emptyPlan(schema)
  plans.set(schema, plan)
  return plan
}

/** Plans what is directly below. */
export function openValuePlan(plan: ValuePlan): void {
  const { schema } = plan
  plan.isOpen = true
  if (schema.properties !== undefined) {
    plan.fields = new Map(Object.entries(schema.properties).map(([name, field]) => [name, valuePlanOf(field)]))
  }
  if (schema.additionalProperties !== undefined) plan.values = valuePlanOf(schema.additionalProperties)
  if (schema.items !== undefined) plan.items = valuePlanOf(schema.items)
  plan.allOf = schema.allOf?.map(valuePlanOf)
  plan.anyOf = schema.anyOf?.map(valuePlanOf)
  plan.oneOf = schema.oneOf?.map(valuePlanOf)
  if (schema.not !== undefined) plan.not = valuePlanOf(schema.not)
}

function emptyPlan(schema: Schema): ValuePlan {
  const { minimum, maximum, multipleOf, minLength, maxLength, minItems, maxItems, minProperties, maxProperties } =
    schema
  const isSet = (rule: unknown) => rule !== undefined
  const hasDeepEnum = schema.enum?.some((value) => typeof value === 'object' && value !== null) ?? false
  return {
    schema,
    isOpen: false,
    types: typesOf(schema),
    scalars: schema.enum && !hasDeepEnum ? new Set(schema.enum) : undefined,
    hasDeepEnum,
    hasNumberRules: [minimum, maximum, multipleOf].some(isSet),
    hasLengths: [minLength, maxLength].some(isSet),
    pattern: schema.pattern,
    format:
      schema.format !== undefined && Object.hasOwn(STRING_FORMATS, schema.format)
        ? STRING_FORMATS[schema.format]
        : undefined,
    fields: undefined,
    values: undefined,
    items: undefined,
    required: schema.required ?? [],
    hasSizes: schema.uniqueItems === true || [minItems, maxItems, minProperties, maxProperties].some(isSet),
    unique: schema.listType === 'set' ? 'item' : schema.listType === 'map' ? 'keys' : 'nothing',
    allOf: undefined,
    anyOf: undefined,
    oneOf: undefined,
    not: undefined,
  }
}

function typesOf(schema: Schema): number {
  const isNullable = schema.nullable || schema.type === undefined ? TYPE.null : 0
  if (schema.intOrString) return isNullable | TYPE.integer | TYPE.string
  if (schema.type === undefined) return ANY_TYPE
  return isNullable | TYPE[schema.type] | (schema.type === 'number' ? TYPE.integer : 0)
}
