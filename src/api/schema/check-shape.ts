import { requestTooLarge } from '../meta/api-error.ts'
import { type Decoded, decodeBytes, decodeMicroTime, decodeQuantity, decodeTime } from './formats.ts'
import { goTypeError } from './go-type-error.ts'
import { countKeys } from './json-scan.ts'
import type { Path } from './path-tree.ts'
import type { Schema } from './schema.ts'
import { CHECK, openPlan, type Plan, planOf } from './shape-plan.ts'

export interface ShapeOptions {
  /** Removes unknown fields from the draft. They are reported either way. */
  readonly prune: boolean
  /** Fills in the schema's defaults. */
  readonly defaults: boolean
  /** Items of lists that were checked before and are not this draft's own: passed over. */
  readonly shared?: ReadonlySet<unknown> | undefined
}

export interface ShapeReport {
  /** At most a hundred. */
  readonly unknownFields: readonly Path[]
  /** The first value of a wrong type in a built-in type, as upstream's decoder words it. */
  readonly typeError: string | undefined
  /** How many object keys the draft had: fewer than its text had means that some came twice. */
  readonly keys: number
}

const REPORTED_FIELDS = 100
/** Who owns what is kept for each item of a list with keys, in a map: more are too much work for one request. */
const MAX_KEYED_ITEMS = 10_000
const tooManyItems = (path: Path) =>
  requestTooLarge(`Request entity too large: ${formatPath(path)} has more than ${MAX_KEYED_ITEMS} items`)

/**
 * One walk over a private draft that finds wrong types and unknown fields, prunes, fills in defaults and brings
 * values of built-in types to their canonical form, in place. Never assigns through a name it does not know.
 */
export function checkShape(draft: object, schema: Schema, options: ShapeOptions): ShapeReport {
  const walk = new ShapeWalk(planOf(schema), options)
  walk.root(draft as Draft)
  return walk
}

type Draft = Record<string, unknown>

class ShapeWalk implements ShapeReport {
  readonly unknownFields: Path[] = []
  typeError: string | undefined = undefined
  keys = 0
  readonly #root: Plan
  readonly #prune: boolean
  readonly #defaults: boolean
  readonly #shared: ReadonlySet<unknown> | undefined
  /** Names and indexes that lead to the value in hand; entries beyond its depth are stale. */
  readonly #path: (string | number)[] = []

  constructor(root: Plan, options: ShapeOptions) {
    this.#root = root
    this.#prune = options.prune
    this.#defaults = options.defaults
    this.#shared = options.shared
  }

  root(draft: Draft): void {
    this.#object(draft, this.#root, 0)
  }

  #object(draft: Draft, plan: Plan, depth: number): void {
    if (!plan.isOpen) openPlan(plan)
    if (this.#defaults && plan.defaults.length > 0) this.#fillIn(draft, plan)
    const fields = plan.fields
    for (const key in draft) {
      const value = draft[key]
      const field = fields?.get(key) ?? plan.values
      if (field === undefined) this.#unknown(draft, key, plan, depth)
      else if (value === undefined) delete draft[key]
      else if (value === null) {
        this.keys++
        // In a list or map null is the zero value, in a struct it is no value.
        // Custom resources keep it only where their schema wants it.
        if (field.builtin || (!field.nullable && field !== plan.values)) delete draft[key]
      } else {
        this.keys++
        this.#path[depth] = key
        const checked = this.#value(value, field, depth + 1)
        if (checked !== value) draft[key] = checked
      }
    }
  }

  #map(draft: Draft, values: Plan, depth: number): void {
    const plainStrings = values.check === CHECK.string
    for (const key in draft) {
      const value = draft[key]
      this.keys++
      if (plainStrings && typeof value === 'string') continue
      this.#path[depth] = key
      const checked = this.#element(value, values, depth + 1)
      if (checked !== value) draft[key] = checked
    }
  }

  #list(draft: unknown[], items: Plan, depth: number, isKeyed: boolean): void {
    if (isKeyed && draft.length > MAX_KEYED_ITEMS) throw tooManyItems(this.#path.slice(0, depth))
    for (let i = 0; i < draft.length; i++) {
      if (this.#shared?.has(draft[i])) continue
      this.#path[depth] = i
      const checked = this.#element(draft[i], items, depth + 1)
      if (checked !== draft[i]) draft[i] = checked
    }
  }

  #element(value: unknown, plan: Plan, depth: number): unknown {
    if (value !== null && value !== undefined) return this.#value(value, plan, depth)
    return plan.builtin ? zeroOf(plan) : value
  }

  /** Checks a value that is there, and returns it or its canonical form. */
  #value(value: unknown, plan: Plan, depth: number): unknown {
    switch (plan.check) {
      case CHECK.string:
        if (typeof value !== 'string') this.#wrongType(value, plan, depth)
        return value
      case CHECK.object:
        if (!isObject(value)) this.#wrongType(value, plan, depth)
        else this.#object(value, plan, depth)
        return value
      case CHECK.map:
        if (!isObject(value)) this.#wrongType(value, plan, depth)
        else this.#map(value, opened(plan).values!, depth)
        return value
      case CHECK.list:
        if (!Array.isArray(value)) this.#wrongType(value, plan, depth)
        else if (opened(plan).items !== undefined) this.#list(value, plan.items!, depth, plan.isKeyed)
        return value
      case CHECK.integer:
        if (!Number.isInteger(value) || (value as number) < plan.minimum || (value as number) > plan.maximum) {
          this.#wrongType(value, plan, depth)
        }
        return value
      default:
        return this.#rareValue(value, plan, depth)
    }
  }

  #rareValue(value: unknown, plan: Plan, depth: number): unknown {
    switch (plan.check) {
      case CHECK.boolean:
        if (typeof value !== 'boolean') this.#wrongType(value, plan, depth)
        return value
      case CHECK.number:
        if (typeof value !== 'number') this.#wrongType(value, plan, depth)
        return value
      case CHECK.quantity:
        return this.#decoded(value, decodeQuantity(value), plan)
      case CHECK.time:
        return this.#text(value, decodeTime, plan)
      case CHECK.microTime:
        return this.#text(value, decodeMicroTime, plan)
      case CHECK.bytes:
        if (typeof value === 'string') return this.#decoded(value, decodeBytes(value), plan)
        this.#wrongType(value, plan, depth)
        return value
      case CHECK.intOrString:
        this.#intOrString(value, plan)
        return value
      default:
        if (isObject(value) && opened(plan).objectForm !== undefined) this.#quietObject(value, plan.objectForm!, depth)
        else if (typeof value === 'object' && value !== null) this.keys += countKeys(value)
        return value
    }
  }

  /** Upstream drops unknown fields in such values (schemas inside of schemas) without a word. */
  #quietObject(value: Draft, plan: Plan, depth: number): void {
    const reported = this.unknownFields.length
    this.#object(value, plan, depth)
    this.unknownFields.length = reported
  }

  #text(value: unknown, decode: (text: string) => Decoded, plan: Plan): unknown {
    if (typeof value === 'string') return this.#decoded(value, decode(value), plan)
    this.#fail(plan, () => `json: cannot unmarshal ${goKind(value)} into Go value of type string`)
    return value
  }

  #decoded(value: unknown, decoded: Decoded, plan: Plan): unknown {
    if ('value' in decoded) return decoded.value
    this.#fail(plan, () => decoded.error)
    return value
  }

  #intOrString(value: unknown, plan: Plan): void {
    if (typeof value === 'string') return
    if (Number.isInteger(value) && Math.abs(value as number) < 2 ** 31) return
    const shown = typeof value === 'number' ? `number ${value}` : goKind(value)
    this.#fail(plan, () => `json: cannot unmarshal ${shown} into Go value of type int32`)
  }

  #wrongType(value: unknown, plan: Plan, depth: number): void {
    if (typeof value === 'object' && value !== null) this.keys += countKeys(value)
    this.#fail(plan, () => goTypeError(this.#root, this.#path.slice(0, depth), plan, value))
  }

  /** Custom resources have their types checked with all their other rules, by `validateValues`. */
  #fail(plan: Plan, message: () => string): void {
    if (plan.builtin && this.typeError === undefined) this.typeError = message()
  }

  #unknown(draft: Draft, key: string, plan: Plan, depth: number): void {
    const value = draft[key]
    this.keys += 1 + (typeof value === 'object' && value !== null ? countKeys(value) : 0)
    if (plan.keepUnknown) return
    this.#path[depth] = key
    if (this.unknownFields.length < REPORTED_FIELDS) this.unknownFields.push(this.#path.slice(0, depth + 1))
    if (this.#prune) delete draft[key]
  }

  #fillIn(draft: Draft, plan: Plan): void {
    for (const [name, value, nullable] of plan.defaults) {
      const isThere = Object.hasOwn(draft, name)
      if (isThere && draft[name] !== undefined && (nullable || draft[name] !== null)) continue
      draft[name] = typeof value === 'object' ? structuredClone(value) : value
      // The walk will count what was not in the text.
      this.keys -= (isThere ? 0 : 1) + (typeof value === 'object' && value !== null ? countKeys(value) : 0)
    }
  }
}

function opened(plan: Plan): Plan {
  if (!plan.isOpen) openPlan(plan)
  return plan
}

const isObject = (value: unknown): value is Draft =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const goKind = (value: unknown) => (Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : typeof value)

/** What null becomes where a value must stand: an item of a list, a value of a map. */
function zeroOf(plan: Plan): unknown {
  switch (plan.check) {
    case CHECK.object:
    case CHECK.map:
      return {}
    case CHECK.list:
      return []
    case CHECK.integer:
    case CHECK.number:
    case CHECK.intOrString:
      return 0
    case CHECK.boolean:
      return false
    case CHECK.quantity:
      return '0'
    case CHECK.any:
    case CHECK.time:
    case CHECK.microTime:
      return null
    default:
      return ''
  }
}

/** `spec`, `containers`, 0, `foo` -> `spec.containers[0].foo` */
export function formatPath(path: Path): string {
  let text = ''
  for (const step of path) text += typeof step === 'number' ? `[${step}]` : text === '' ? step : `.${step}`
  return text
}
