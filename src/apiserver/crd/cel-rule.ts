import type { JSONSchemaProps, ValidationRule } from '../../api/generated/apiextensions-v1.ts'
import type { Re2 } from '../../base/re2.ts'
import { CelCompileError, type CelOptions, type CompiledCel, compileCel, kubernetesLibrary } from '../../cel/compile.ts'
import type { Library } from '../../cel/library.ts'
import type { Sized } from '../../cel/sizes.ts'
import { type CelType, optionalOf } from '../../cel/types.ts'
import { celTypeOf } from './cel-schema.ts'
import { fieldNames, parseJsonPath } from './json-path.ts'

/** One rule of a schema, ready to run. */
export interface CompiledRule {
  readonly rule: ValidationRule
  readonly program: CompiledCel
  readonly message: CompiledCel | undefined
  /** Compares with what was there before. */
  readonly isTransition: boolean
  /** Where a failure is reported, below the value itself. */
  readonly fieldPath: readonly string[]
}

/** What is wrong with a rule: which part of it, and why. */
export class RuleError extends Error {
  readonly part: 'rule' | 'messageExpression' | 'fieldPath'

  constructor(part: RuleError['part'], message: string) {
    super(message)
    this.part = part
  }
}

const libraries = new WeakMap<Re2, Library>()

function libraryOf(re2: Re2): Library {
  let library = libraries.get(re2)
  if (!library) {
    library = kubernetesLibrary(re2)
    libraries.set(re2, library)
  }
  return library
}

/** Throws `RuleError`. The costs are estimated if sizes are told. */
export function compileRule(
  rule: ValidationRule,
  props: JSONSchemaProps,
  isObject: boolean,
  re2: Re2,
  sizes?: Sized,
): CompiledRule {
  const self = celTypeOf(props, isObject)
  const oldSelf = rule.optionalOldSelf ? optionalOf(self) : self
  const variables = new Map<string, CelType>([
    ['self', self],
    ['oldSelf', oldSelf],
  ])
  const compile = (text: string, part: 'rule' | 'messageExpression', wanted: string, wrong: string) => {
    const program = compilePart(text, { variables, library: libraryOf(re2), ...(sizes && { sizes }) }, part)
    if (program.type.kind !== wanted && program.type.kind !== 'dyn') throw new RuleError(part, wrong)
    return program
  }
  const program = compile(rule.rule, 'rule', 'bool', 'cel expression must evaluate to a bool')
  const message = rule.messageExpression
    ? compile(rule.messageExpression, 'messageExpression', 'string', 'messageExpression must evaluate to a string')
    : undefined
  const isTransition = program.uses.has('oldSelf')
  return { rule, program, message, isTransition, fieldPath: fieldPathOf(rule, props) }
}

function compilePart(text: string, options: CelOptions, part: 'rule' | 'messageExpression'): CompiledCel {
  try {
    return compileCel(text, options)
  } catch (error) {
    if (!(error instanceof CelCompileError)) throw error
    const what = part === 'rule' ? 'compilation failed' : 'messageExpression compilation failed'
    throw new RuleError(part, `${what}: ${error.message}`)
  }
}

/** The names of a rule's fieldPath; it must lead to a field of the schema. */
function fieldPathOf({ fieldPath }: ValidationRule, props: JSONSchemaProps): string[] {
  if (!fieldPath) return []
  let names: string[] | undefined
  try {
    names = fieldNames(parseJsonPath(fieldPath))
  } catch {
    names = undefined
  }
  let schema: JSONSchemaProps | undefined = props
  for (const name of names ?? []) {
    const others: JSONSchemaProps['additionalProperties'] = schema?.additionalProperties
    schema = schema?.properties?.[name] ?? (typeof others === 'object' ? others : undefined)
  }
  if (names === undefined || schema === undefined)
    throw new RuleError('fieldPath', `fieldPath ${fieldPath} must be a valid path: does not refer to a valid field`)
  return names
}
