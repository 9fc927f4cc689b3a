import type { Schema } from './schema.ts'

/** What a value must be. One number per check keeps the walk a single switch. */
export const CHECK = {
  any: 0,
  object: 1,
  map: 2,
  list: 3,
  string: 4,
  integer: 5,
  number: 6,
  boolean: 7,
  intOrString: 8,
  quantity: 9,
  time: 10,
  microTime: 11,
  bytes: 12,
} as const

export type Check = (typeof CHECK)[keyof typeof CHECK]

/**
 * A schema made ready for the walk. All plans have one shape, so that the engine keeps the walk fast. What is below is
 * planned when the walk first gets there: of a large schema most objects use little.
 */
export interface Plan {
  readonly schema: Schema
  isOpen: boolean
  readonly check: Check
  /**
   * Part of a built-in type: decoded as the upstream server decodes into its structs (null means absent, quantities
   * and times take their canonical form). Custom resources stay as they were sent.
   */
  readonly builtin: boolean
  fields: ReadonlyMap<string, Plan> | undefined
  values: Plan | undefined
  items: Plan | undefined
  /** Of a built-in value that may be an object or something else: what it is as an object. */
  objectForm: Plan | undefined
  readonly keepUnknown: boolean
  readonly nullable: boolean
  /** Items of the list are told apart by key or value. */
  readonly isKeyed: boolean
  readonly minimum: number
  readonly maximum: number
  /** Fields of this object that have a default. */
  defaults: readonly (readonly [name: string, value: unknown, nullable: boolean])[]
}

const builtinPlans = new WeakMap<Schema, Plan>()
const customPlans = new WeakMap<Schema, Plan>()

/** The plan of a schema, made once. A schema that names its definition is a built-in type, and so is all below it. */
export function planOf(schema: Schema, insideBuiltin = false): Plan {
  const builtin = insideBuiltin || schema.definition !== undefined
  const plans = builtin ? builtinPlans : customPlans
  const known = plans.get(schema)
  if (known !== undefined) return known
  const plan = emptyPlan(schema, builtin)
  plans.set(schema, plan)
  return plan
}

/** Plans what is directly below. */
export function openPlan(plan: Plan): void {
  const { schema, builtin } = plan
  plan.isOpen = true
  if (schema.properties !== undefined) plan.fields = planFields(schema.properties, builtin)
  else if (plan.check === CHECK.object) plan.fields = new Map()
  if (schema.additionalProperties !== undefined) plan.values = planOf(schema.additionalProperties, builtin)
  if (schema.items !== undefined) plan.items = planOf(schema.items, builtin)
  if (builtin && schema.anyOf?.[0] !== undefined) plan.objectForm = planOf(schema.anyOf[0], true)
  plan.defaults = defaultsOf(schema)
}

function emptyPlan(schema: Schema, builtin: boolean): Plan {
  const wide = schema.format !== 'int32'
  return {
    schema,
    isOpen: false,
    check: checkOf(schema, builtin),
    builtin,
    fields: undefined,
    values: undefined,
    items: undefined,
    objectForm: undefined,
    keepUnknown: schema.preserveUnknownFields === true,
    nullable: schema.nullable === true,
    isKeyed: schema.listType === 'map' || schema.listType === 'set',
    minimum: wide ? -(2 ** 63) : -(2 ** 31),
    maximum: wide ? 2 ** 63 : 2 ** 31 - 1,
    defaults: [],
  }
}

const BUILTIN_FORMATS: Readonly<Record<string, Check>> = {
  quantity: CHECK.quantity,
  'date-time': CHECK.time,
  'date-time-micro': CHECK.microTime,
  byte: CHECK.bytes,
}

function checkOf(schema: Schema, builtin: boolean): Check {
  const special = builtin && schema.format !== undefined ? BUILTIN_FORMATS[schema.format] : undefined
  if (special !== undefined) return special
  if (schema.intOrString) return CHECK.intOrString
  switch (schema.type) {
    case 'object':
      return schema.additionalProperties !== undefined && schema.properties === undefined ? CHECK.map : CHECK.object
    case 'array':
      return CHECK.list
    case undefined:
      return schema.properties === undefined ? CHECK.any : CHECK.object
    default:
      return CHECK[schema.type]
  }
}

function planFields(properties: Readonly<Record<string, Schema>>, builtin: boolean): Map<string, Plan> {
  const fields = new Map<string, Plan>()
  for (const [name, schema] of Object.entries(properties)) {
    // No object may ever be reached through this name.
    if (name !== '__proto__') fields.set(name, planOf(schema, builtin))
  }
  return fields
}

function defaultsOf(schema: Schema): Plan['defaults'] {
  const fields = Object.entries(schema.properties ?? {})
  return fields
    .filter(([name, field]) => field.default !== undefined && name !== '__proto__')
    .map(([name, field]) => [name, field.default, field.nullable === true] as const)
}
