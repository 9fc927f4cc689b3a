import { isDeepStrictEqual } from 'node:util'
import type { JSONSchemaProps, ValidationRule } from '../../api/generated/apiextensions-v1.ts'
import { childSchemas } from '../../api/kinds/apiextensions/custom-resource-definition/schema-tree.ts'
import { type FieldError, invalid, notSupported, tooMany } from '../../api/meta/field-error.ts'
import type { FieldPath } from '../../api/meta/field-path.ts'
import type { Re2 } from '../../base/re2.ts'
import { type CompiledRule, compileRule, RuleError } from './cel-rule.ts'
import { type SchemaSize, schemaSizeOf } from './cel-sizes.ts'
import { type Cardinality, cardinalityBelow, RuleCosts } from './rule-cost.ts'
import { RuleRun, type RuleTree } from './rule-run.ts'
import type { CelRules } from './rules.ts'

const RULES = 'x-kubernetes-validations'

/** The rules of a schema and of all below it; undefined if there are none. */
export function celRules(props: JSONSchemaProps, re2: Re2): CelRules | undefined {
  const tree = ruleTree(props, re2, true)
  return tree && { validate: (object, old) => new RuleRun().run(tree, object, old) }
}

/** Only the branches of the schema that lead to rules. */
function ruleTree(props: JSONSchemaProps, re2: Re2, isRoot: boolean): RuleTree | undefined {
  const isObject = isRoot || props['x-kubernetes-embedded-resource'] === true
  const rules = (props[RULES] ?? [])
    .map((rule) => tryCompile(rule, props, isObject, re2))
    .filter((one) => one !== undefined)
  const fields = new Map<string, RuleTree>()
  for (const [name, field] of Object.entries(props.properties ?? {})) {
    const tree = isObject && name === 'metadata' ? undefined : ruleTree(field, re2, false)
    if (tree) fields.set(name, tree)
  }
  const { items, additionalProperties } = props
  const itemTree = items && !Array.isArray(items) ? ruleTree(items, re2, false) : undefined
  const values = typeof additionalProperties === 'object' ? ruleTree(additionalProperties, re2, false) : undefined
  if (rules.length === 0 && fields.size === 0 && !itemTree && !values) return undefined
  return { props, isObject, rules, fields, items: itemTree, values }
}

/** A rule that does not compile any more is passed over: its definition was accepted when it did. */
function tryCompile(
  rule: ValidationRule,
  props: JSONSchemaProps,
  isObject: boolean,
  re2: Re2,
): CompiledRule | undefined {
  try {
    return compileRule(rule, props, isObject, re2)
  } catch (error) {
    if (error instanceof RuleError) return undefined
    throw error
  }
}

const REASONS = ['FieldValueInvalid', 'FieldValueForbidden', 'FieldValueRequired', 'FieldValueDuplicate']

/** Rules that a schema may have: each takes a while to compile, also when the server starts. */
const MAX_RULES = 1000

/** What is wrong with the rules of a schema, one after the other. Rules that it had before are taken as they are. */
export function* checkRules(
  props: JSONSchemaProps,
  before: JSONSchemaProps | undefined,
  path: FieldPath,
  re2: Re2,
): Generator<FieldError[]> {
  const check = new RuleCheck(re2, isDeepStrictEqual(props, before))
  yield* check.check({ props, before, path, isRoot: true, lost: undefined, cardinality: 1 })
  yield check.total(path)
}

/** A part of a schema, and where it is. */
interface SchemaPart {
  readonly props: JSONSchemaProps
  readonly before: JSONSchemaProps | undefined
  readonly path: FieldPath
  readonly isRoot: boolean
  /** The list within which old values cannot be told which they were. */
  readonly lost: FieldPath | undefined
  readonly cardinality: Cardinality
}

class RuleCheck {
  readonly #re2: Re2
  /** A schema that is there already may be as expensive as it is. */
  readonly #isUnchanged: boolean
  readonly #costs = new RuleCosts()
  #rules = 0

  constructor(re2: Re2, isUnchanged: boolean) {
    this.#re2 = re2
    this.#isUnchanged = isUnchanged
  }

  *check(part: SchemaPart): Generator<FieldError[]> {
    const { props, before, path, lost } = part
    const known = new Set(before?.[RULES]?.map((rule) => JSON.stringify(rule)))
    for (const [i, rule] of (props[RULES] ?? []).entries()) {
      if (++this.#rules > MAX_RULES) {
        yield [tooMany(path.child(RULES).index(i), this.#rules, MAX_RULES)]
        return
      }
      yield this.#rule(rule, part, path.child(RULES).index(i), known.has(JSON.stringify(rule)))
    }
    const cardinality = cardinalityBelow(props, part.cardinality)
    for (const [child, at, what] of childSchemas(props, path)) {
      const isUncorrelated = what === 'array items' && props['x-kubernetes-list-type'] !== 'map'
      yield* this.check({
        props: child,
        before: childBefore(before, props, child),
        path: at,
        isRoot: false,
        lost: isUncorrelated ? (lost ?? path) : lost,
        cardinality,
      })
    }
  }

  total(path: FieldPath): FieldError[] {
    return this.#isUnchanged ? [] : this.#costs.total(path)
  }

  #rule(rule: ValidationRule, part: SchemaPart, path: FieldPath, isKnown: boolean): FieldError[] {
    const { props, isRoot } = part
    const isObject = isRoot || props['x-kubernetes-embedded-resource'] === true
    const size = schemaSizeOf(props, isObject)
    try {
      const compiled = compileRule(rule, props, isObject, this.#re2, size ?? NO_SIZE)
      const tooExpensive = this.#cost(compiled, size, part.cardinality, path)
      return isKnown ? tooExpensive : [...tooExpensive, ...faultsOf(compiled, part.lost, path)]
    } catch (error) {
      if (!(error instanceof RuleError)) throw error
      if (isKnown) return []
      const value = error.part === 'rule' ? rule : rule[error.part]
      return [...reasonFaults(rule, path), invalid(path.child(error.part), value, error.message)]
    }
  }

  #cost(
    { program, message }: CompiledRule,
    size: SchemaSize | undefined,
    cardinality: Cardinality,
    path: FieldPath,
  ): FieldError[] {
    const errors = this.#costs.rule(program.cost, size, cardinality, path.child('rule'))
    if (message) errors.push(...this.#costs.message(message.cost, path.child('messageExpression')))
    return this.#isUnchanged ? [] : errors
  }
}

const NO_SIZE: SchemaSize = { max: 0, least: 0 }

function faultsOf({ rule, isTransition }: CompiledRule, lost: FieldPath | undefined, path: FieldPath): FieldError[] {
  const errors = reasonFaults(rule, path)
  const { optionalOldSelf } = rule
  if (isTransition && lost)
    errors.push(
      invalid(
        path.child('rule'),
        rule.rule,
        `oldSelf cannot be used on the uncorrelatable portion of the schema within ${lost}`,
      ),
    )
  if (optionalOldSelf !== undefined && !isTransition)
    errors.push(
      invalid(path.child('optionalOldSelf'), optionalOldSelf, 'may not be set if oldSelf is not used in rule'),
    )
  return errors
}

function reasonFaults({ reason }: ValidationRule, path: FieldPath): FieldError[] {
  return reason && !REASONS.includes(reason) ? [notSupported(path.child('reason'), reason, REASONS)] : []
}

/** The same child in the schema as it was. */
function childBefore(
  before: JSONSchemaProps | undefined,
  props: JSONSchemaProps,
  child: JSONSchemaProps,
): JSONSchemaProps | undefined {
  if (before === undefined) return undefined
  if (props.items === child) return Array.isArray(before.items) ? undefined : before.items
  if (props.additionalProperties === child)
    return typeof before.additionalProperties === 'object' ? before.additionalProperties : undefined
  const name = Object.keys(props.properties ?? {}).find((one) => props.properties?.[one] === child)
  return name === undefined ? undefined : before.properties?.[name]
}
