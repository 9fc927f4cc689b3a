import type { JSONSchemaProps, ValidationRule } from '../../api/generated/apiextensions-v1.ts'
import { childSchemas } from '../../api/kinds/apiextensions/custom-resource-definition/schema-tree.ts'
import { type FieldError, invalid, notSupported } from '../../api/meta/field-error.ts'
import type { FieldPath } from '../../api/meta/field-path.ts'
import type { Re2 } from '../../base/re2.ts'
import { type CompiledRule, compileRule, RuleError } from './cel-rule.ts'
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

/** What is wrong with the rules of a schema. Rules that it had before are taken as they are. */
export function checkRules(
  props: JSONSchemaProps,
  before: JSONSchemaProps | undefined,
  path: FieldPath,
  re2: Re2,
): FieldError[] {
  return new RuleCheck(re2).check(props, before, path, true, undefined)
}

class RuleCheck {
  readonly #re2: Re2

  constructor(re2: Re2) {
    this.#re2 = re2
  }

  /** `lost` is the list or map within which old values cannot be told which they were. */
  check(
    props: JSONSchemaProps,
    before: JSONSchemaProps | undefined,
    path: FieldPath,
    isRoot: boolean,
    lost: FieldPath | undefined,
  ): FieldError[] {
    const isObject = isRoot || props['x-kubernetes-embedded-resource'] === true
    const errors: FieldError[] = []
    const known = new Set(before?.[RULES]?.map((rule) => JSON.stringify(rule)))
    props[RULES]?.forEach((rule, i) => {
      const at = path.child(RULES).index(i)
      if (!known.has(JSON.stringify(rule))) errors.push(...this.#rule(rule, props, at, isObject, lost))
    })
    for (const [child, at, what] of childSchemas(props, path)) {
      const isList = what === 'array items'
      const gone = isList && props['x-kubernetes-list-type'] !== 'map' ? (lost ?? path) : lost
      errors.push(...this.check(child, childBefore(before, props, child), at, false, gone))
    }
    return errors
  }

  #rule(
    rule: ValidationRule,
    props: JSONSchemaProps,
    path: FieldPath,
    isObject: boolean,
    lost: FieldPath | undefined,
  ): FieldError[] {
    const errors: FieldError[] = []
    if (rule.reason && !REASONS.includes(rule.reason))
      errors.push(notSupported(path.child('reason'), rule.reason, REASONS))
    try {
      const { isTransition } = compileRule(rule, props, isObject, this.#re2)
      if (isTransition && lost)
        errors.push(
          invalid(
            path.child('rule'),
            rule.rule,
            `oldSelf cannot be used on the uncorrelatable portion of the schema within ${lost}`,
          ),
        )
      if (rule.optionalOldSelf !== undefined && !isTransition)
        errors.push(
          invalid(path.child('optionalOldSelf'), rule.optionalOldSelf, 'may not be set if oldSelf is not used in rule'),
        )
    } catch (error) {
      if (!(error instanceof RuleError)) throw error
      const value = error.part === 'rule' ? rule : rule[error.part]
      errors.push(invalid(path.child(error.part), value, error.message))
    }
    return errors
  }
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
