import type { CustomResourceDefinitionVersion, JSONSchemaProps } from '../../api/generated/apiextensions-v1.ts'
import { childSchemas, valueSchemas } from '../../api/kinds/apiextensions/custom-resource-definition/schema-tree.ts'
import { type FieldError, invalid, tooMany } from '../../api/meta/field-error.ts'
import type { FieldPath } from '../../api/meta/field-path.ts'
import { checkShape } from '../../api/schema/check-shape.ts'
import { validateValues } from '../../api/schema/validate-values.ts'
import { inTurns } from '../../base/take-turn.ts'
import { fieldNames, parseJsonPath } from './json-path.ts'
import type { RuleEngines } from './rules.ts'
import { customSchemas } from './structural-schema.ts'

/** Patterns that a schema may have, where equal ones count once: each takes a while to compile. */
const MAX_PATTERNS = 1000

/** The checks of one version that need more than its structure. */
export async function checkSchema(
  version: CustomResourceDefinitionVersion,
  before: CustomResourceDefinitionVersion | undefined,
  path: FieldPath,
  engines: RuleEngines,
): Promise<FieldError[]> {
  const props = version.schema?.openAPIV3Schema
  if (!props) return []
  const at = path.child('schema', 'openAPIV3Schema')
  const errors = [...(await inTurns(checkNode(props, at, engines, new Set()))), ...checkPaths(version, props, path)]
  // Rules of a schema with other faults are not looked at: their types would be guesses.
  if (errors.length === 0 && engines.checkRules)
    errors.push(...(await inTurns(engines.checkRules(props, before?.schema?.openAPIV3Schema, at))))
  return errors
}

function* checkNode(
  props: JSONSchemaProps,
  path: FieldPath,
  engines: RuleEngines,
  patterns: Set<string>,
): Generator<FieldError[]> {
  const errors: FieldError[] = []
  if (props.pattern !== undefined) patterns.add(props.pattern)
  const isOneMore = patterns.size > MAX_PATTERNS
  const problem = props.pattern === undefined || isOneMore ? undefined : engines.re2?.problem(props.pattern)
  if (isOneMore) errors.push(tooMany(path.child('pattern'), patterns.size, MAX_PATTERNS))
  if (problem !== undefined)
    errors.push(
      invalid(path.child('pattern'), props.pattern, `must be a valid regular expression, but isn't: ${problem}`),
    )
  if (props.default !== undefined) errors.push(...checkDefault(props, path, engines))
  yield errors
  if (isOneMore) return
  for (const [child, at] of childSchemas(props, path)) yield* checkNode(child, at, engines, patterns)
  for (const [child, at] of valueSchemas(props, path)) yield* checkNode(child, at, engines, patterns)
}

/** A default must be a value that its own schema takes as it is. */
function checkDefault(props: JSONSchemaProps, path: FieldPath, { re2 }: RuleEngines): FieldError[] {
  const at = path.child('default')
  const { rules } = customSchemas({ type: 'object', properties: { value: props } })
  const draft = { value: structuredClone(props.default) }
  const { unknownFields } = checkShape(draft, rules, { prune: true, defaults: true })
  if (unknownFields.length > 0) return [invalid(at, props.default, 'must not have unknown fields')]
  if (props.default === null && !props.nullable) return [invalid(at, null, 'must not be null')]
  const matches = (pattern: string, text: string) => re2 === undefined || re2.matches(pattern, text)
  const problems = re2 === undefined || props.pattern === undefined || re2.problem(props.pattern) === undefined
  return problems
    ? validateValues(draft, rules, matches).map((error) => ({
        ...error,
        field: error.field.replace(/^value/, at.toString()),
        message: error.message.replaceAll(/\bvalue in body/g, `${at} in body`),
      }))
    : []
}

/** Columns can be read and selectable fields are there. */
function checkPaths(version: CustomResourceDefinitionVersion, props: JSONSchemaProps, path: FieldPath): FieldError[] {
  const errors: FieldError[] = []
  version.additionalPrinterColumns?.forEach(({ jsonPath }, i) => {
    const at = path.child('additionalPrinterColumns').index(i).child('jsonPath')
    const wrong = problemOf(() => parseJsonPath(jsonPath))
    if (wrong) errors.push(invalid(at, jsonPath, `is an invalid path: ${wrong}`))
  })
  version.selectableFields?.forEach(({ jsonPath }, i) => {
    const at = path.child('selectableFields').index(i).child('jsonPath')
    const wrong = problemOf(() => checkSelectable(jsonPath, props))
    if (wrong) errors.push(invalid(at, jsonPath, wrong))
  })
  return errors
}

function problemOf(work: () => unknown): string | undefined {
  try {
    work()
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

function checkSelectable(jsonPath: string, props: JSONSchemaProps): void {
  const names = fieldNames(parseJsonPath(jsonPath))
  if (names === undefined) throw new Error('is an invalid path: must be a simple field path')
  let schema: JSONSchemaProps | undefined = props
  for (const name of names) schema = schema?.properties?.[name]
  if (!schema) throw new Error('is an invalid path: does not refer to a valid field')
  const isScalar = schema.type === 'string' || schema.type === 'boolean' || schema.type === 'integer'
  if (!isScalar)
    throw new Error(
      'must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.',
    )
}
