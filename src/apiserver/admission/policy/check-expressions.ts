import type {
  MutatingAdmissionPolicySpec,
  ValidatingAdmissionPolicySpec,
} from '../../../api/generated/admissionregistration-v1.ts'
import { type FieldError, invalid } from '../../../api/meta/field-error.ts'
import { FieldPath } from '../../../api/meta/field-path.ts'
import type { Expressions } from '../matching/expressions.ts'
import type { Compiled } from '../matching/match-conditions.ts'
import { type CompiledPolicy, compilePolicy } from './evaluation.ts'
import { compileMutatingPolicy } from './mutation.ts'
import type { PolicySpec } from './policies.ts'
import { compileValidatingPolicy } from './validation.ts'

const SPEC = FieldPath.root('spec')

/** An expression of a policy, and where it stands. */
export interface PlacedExpression {
  readonly path: FieldPath
  readonly expression: Compiled[number]
}

/** All expressions of a validating policy. */
export function validatingExpressions(expressions: Expressions, spec: ValidatingAdmissionPolicySpec) {
  const compiled = compileValidatingPolicy(expressions, spec)
  const found = commonExpressions(compiled, spec)
  compiled.validations.forEach(({ check, message }, i) => {
    const path = SPEC.child('validations').index(i)
    found.push({ path: path.child('expression'), expression: check })
    if (message) found.push({ path: path.child('messageExpression'), expression: message })
  })
  compiled.annotations.forEach(({ value }, i) => {
    found.push({ path: SPEC.child('auditAnnotations').index(i).child('valueExpression'), expression: value })
  })
  return found
}

/** All expressions of a mutating policy. */
export function mutatingExpressions(expressions: Expressions, spec: MutatingAdmissionPolicySpec) {
  const compiled = compileMutatingPolicy(expressions, spec)
  const found = commonExpressions(compilePolicy(expressions, spec), spec)
  compiled.mutations.forEach(({ type, patch }, i) => {
    const field = type === 'JSONPatch' ? 'jsonPatch' : 'applyConfiguration'
    found.push({ path: SPEC.child('mutations').index(i).child(field).child('expression'), expression: patch })
  })
  return found
}

function commonExpressions(compiled: CompiledPolicy, spec: PolicySpec): PlacedExpression[] {
  const conditions = compiled.conditions.map((expression, i) => ({
    path: SPEC.child('matchConditions').index(i).child('expression'),
    expression,
  }))
  const variables = (spec.variables ?? []).map(({ name, expression: text }, i) => ({
    path: SPEC.child('variables').index(i).child('expression'),
    expression: { text, program: compiled.variables.programs.get(name)! },
  }))
  return [...conditions, ...variables]
}

/** What does not compile, but for what was let in before. */
export function expressionProblems(found: readonly PlacedExpression[], known: ReadonlySet<string>): FieldError[] {
  return found.flatMap(({ path, expression: { text, program } }) =>
    program instanceof Error && !known.has(text) ? [invalid(path, text, program.message)] : [],
  )
}
