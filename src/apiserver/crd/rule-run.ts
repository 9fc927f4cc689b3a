import type { JSONSchemaProps } from '../../api/generated/apiextensions-v1.ts'
import { duplicate, type FieldError, forbidden, invalid, required } from '../../api/meta/field-error.ts'
import { FieldPath } from '../../api/meta/field-path.ts'
import { canonical } from '../../api/schema/value-rules.ts'
import { deepEqual } from '../../base/deep-equal.ts'
import { getOrCreate } from '../../base/get-or-create.ts'
import type { CompiledCel } from '../../cel/compile.ts'
import { Budget } from '../../cel/library.ts'
import { CelBudgetError, CelError, type CelValue, Optional } from '../../cel/values.ts'
import type { CompiledRule } from './cel-rule.ts'
import { celValueOf } from './cel-schema.ts'

/** The rules at one place of a schema, and the places below that have some. */
export interface RuleTree {
  readonly props: JSONSchemaProps
  /** A whole object with kind and metadata. */
  readonly isObject: boolean
  readonly rules: readonly CompiledRule[]
  readonly fields: ReadonlyMap<string, RuleTree>
  readonly items: RuleTree | undefined
  readonly values: RuleTree | undefined
}

/** What one rule may cost on one value, and all rules on one object. */
const RULE_BUDGET = 1_000_000
const OBJECT_BUDGET = 10_000_000
const MAX_MESSAGE = 5 * 1024

type Fields = Readonly<Record<string, unknown>>
const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Runs all rules on one object. */
export class RuleRun {
  readonly #errors: FieldError[] = []
  readonly #values = new Map<RuleTree, WeakMap<object, CelValue>>()
  #left = OBJECT_BUDGET

  run(tree: RuleTree, value: unknown, old: unknown): FieldError[] {
    this.#visit(tree, value, old, undefined)
    return this.#errors
  }

  #visit(tree: RuleTree, value: unknown, old: unknown, path: FieldPath | undefined): void {
    if (value === undefined || value === null || this.#left < 0) return
    for (const rule of tree.rules) this.#apply(rule, tree, value, old, path)
    if (Array.isArray(value)) this.#items(tree, value, old, path)
    else if (isFields(value)) this.#fields(tree, value, old, path)
  }

  #fields(tree: RuleTree, value: Fields, old: unknown, path: FieldPath | undefined): void {
    for (const [name, field] of Object.entries(value)) {
      const below = tree.fields.get(name)
      const before = isFields(old) && Object.hasOwn(old, name) ? old[name] : undefined
      if (below) this.#visit(below, field, before, path?.child(name) ?? FieldPath.root(name))
      else if (tree.values) this.#visit(tree.values, field, before, path?.key(name) ?? FieldPath.root(name))
    }
  }

  #items(tree: RuleTree, value: readonly unknown[], old: unknown, path: FieldPath | undefined): void {
    const { items, props } = tree
    if (!items) return
    const keyOf = keyReader(props)
    const before = new Map(keyOf && Array.isArray(old) ? old.map((item) => [keyOf(item), item]) : [])
    value.forEach((item, i) => {
      this.#visit(items, item, keyOf && before.get(keyOf(item)), path?.index(i))
    })
  }

  #apply(rule: CompiledRule, tree: RuleTree, value: unknown, old: unknown, path: FieldPath | undefined): void {
    if (this.#left < 0) return
    const hasOld = old !== undefined && old !== null
    if (rule.isTransition && !hasOld && !rule.rule.optionalOldSelf) return
    // What did not change is let be, whatever is thought of it now.
    if (!rule.isTransition && hasOld && deepEqual(value, old)) return
    const variables = this.#variables(rule, tree, value, hasOld ? old : undefined)
    const isShort = this.#left < RULE_BUDGET
    const fail = (error: FieldError) => this.#errors.push(error)
    const at = rule.fieldPath.reduce((place, name) => place?.child(name) ?? FieldPath.root(name), path)
    try {
      const passed = this.#evaluate(rule.program, variables)
      if (passed !== true) fail(fieldError(rule, tree, value, at ?? NO_PATH, this.#message(rule, variables)))
    } catch (error) {
      if (!(error instanceof CelError)) throw error
      const shown = rule.rule.message?.trim() || rule.rule.rule.trim()
      fail(invalid(at ?? NO_PATH, tree.props.type ?? '', failureText(error, shown, isShort)))
    }
  }

  /** Within what one run may cost, and what is left for the whole object. */
  #evaluate(program: CompiledCel, variables: ReadonlyMap<string, CelValue>): CelValue {
    const limit = Math.min(RULE_BUDGET, this.#left)
    const budget = new Budget(limit)
    try {
      return program.evaluate(variables, budget)
    } catch (error) {
      if (error instanceof CelBudgetError) this.#left = -1
      throw error
    } finally {
      this.#left -= limit - Math.max(budget.left, 0)
    }
  }

  #variables(rule: CompiledRule, tree: RuleTree, value: unknown, old: unknown): Map<string, CelValue> {
    const variables = new Map([['self', this.#valueOf(tree, value)]])
    const before = old === undefined ? undefined : this.#valueOf(tree, old)
    if (rule.rule.optionalOldSelf) variables.set('oldSelf', before === undefined ? Optional.NONE : new Optional(before))
    else if (before !== undefined) variables.set('oldSelf', before)
    return variables
  }

  /** Values are brought into the form of expressions once, however many rules look at them. */
  #valueOf(tree: RuleTree, value: unknown): CelValue {
    if (typeof value !== 'object' || value === null || tree.rules.length === 1)
      return celValueOf(value, tree.props, tree.isObject)
    const known = getOrCreate(this.#values, tree, () => new WeakMap<object, CelValue>())
    const made = known.get(value) ?? celValueOf(value, tree.props, tree.isObject)
    known.set(value, made)
    return made
  }

  /** An expression for the message that fails or says nothing is as good as none. */
  #message({ message, rule }: CompiledRule, variables: ReadonlyMap<string, CelValue>): string {
    const plain = rule.message?.trim() || `failed rule: ${rule.rule.trim()}`
    if (!message) return plain
    try {
      const text = this.#evaluate(message, variables)
      const isUsable =
        typeof text === 'string' && text.trim() !== '' && !text.includes('\n') && text.length <= MAX_MESSAGE
      return isUsable ? text : plain
    } catch (error) {
      if (error instanceof CelError) return plain
      throw error
    }
  }
}

const NO_PATH = FieldPath.root('<nil>')

function failureText(error: CelError, rule: string, isShort: boolean): string {
  if (error instanceof CelBudgetError && isShort)
    return 'validation failed due to running out of cost budget, no further validation rules will be run'
  if (error instanceof CelBudgetError)
    return `no further validation rules will be run due to call cost exceeds limit for rule: ${rule}`
  return `${error.message} evaluating rule: ${rule}`
}

/** As the rule's reason wants it; the value is named by its type. */
function fieldError({ rule }: CompiledRule, tree: RuleTree, value: unknown, path: FieldPath, text: string): FieldError {
  switch (rule.reason) {
    case 'FieldValueRequired':
      return required(path, text)
    case 'FieldValueForbidden':
      return forbidden(path, text)
    case 'FieldValueDuplicate':
      return duplicate(path, value)
    default:
      return invalid(path, tree.props.type ?? '', text)
  }
}

/** Items of a list with keys are known again by them. */
function keyReader(props: JSONSchemaProps): ((item: unknown) => string) | undefined {
  const keys = props['x-kubernetes-list-map-keys']
  if (props['x-kubernetes-list-type'] !== 'map' || !keys) return undefined
  return (item) => canonical(keys.map((key) => (isFields(item) ? (item[key] ?? null) : null)))
}
