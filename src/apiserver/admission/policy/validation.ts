import type { ValidatingAdmissionPolicySpec, Validation } from '../../../api/generated/admissionregistration-v1.ts'
import type { CelVariables } from '../../../cel/compile.ts'
import { CostLimit, type Expressions, isCelFailure, type VariableTypes } from '../matching/expressions.ts'
import { type Compiled, conditionsHold } from '../matching/match-conditions.ts'
import type { AdmissionRequest } from '../plugin.ts'
import type { Invocation, PolicyContext } from './dispatch.ts'
import { type CompiledPolicy, compilePolicy, evaluateOrFail, POLICY_COST, valuesFor } from './evaluation.ts'
import { attempt } from './variables.ts'

type Spec = ValidatingAdmissionPolicySpec

interface CompiledValidation {
  readonly validation: Validation
  readonly check: Compiled[number]
  readonly message: Compiled[number] | undefined
}

export interface CompiledValidatingPolicy extends CompiledPolicy {
  readonly validations: readonly CompiledValidation[]
  readonly annotations: readonly { readonly key: string; readonly value: Compiled[number] }[]
}

/** Why a policy does not want a request. */
export interface Refusal {
  readonly message: string
  readonly reason: string | undefined
  /** Which validation it was. */
  readonly index: number
}

export interface Verdict {
  readonly refusals: readonly Refusal[]
  readonly annotations: ReadonlyMap<string, string>
}

const NO_OBJECTION: Verdict = { refusals: [], annotations: new Map() }
const MAX_MESSAGE = 5 * 1024
const MAX_ANNOTATION = 10 * 1024

export function compileValidatingPolicy(
  expressions: Expressions,
  spec: Spec,
  known?: VariableTypes,
): CompiledValidatingPolicy {
  const common = compilePolicy(expressions, spec, known)
  const { types } = common.variables
  // Messages and what is told to the audit log cannot ask for rights.
  const plain = new Map([...types].filter(([name]) => name !== 'authorizer'))
  const compile = (text: string, wanted: readonly string[], variables = types) => ({
    text,
    program: attempt(() => expressions.compile(text, variables, wanted)),
  })
  return {
    ...common,
    validations: (spec.validations ?? []).map((validation) => ({
      validation,
      check: compile(validation.expression, ['bool']),
      message: validation.messageExpression ? compile(validation.messageExpression, ['string'], plain) : undefined,
    })),
    annotations: (spec.auditAnnotations ?? []).map(({ key, valueExpression }) => ({
      key,
      value: compile(valueExpression, ['string', 'null']),
    })),
  }
}

/** What one policy with one parameter thinks of a request. */
export async function judge(
  context: PolicyContext,
  request: AdmissionRequest,
  invocation: Invocation<Spec>,
  compiled: CompiledValidatingPolicy,
): Promise<Verdict> {
  const limit = new CostLimit(POLICY_COST)
  const values = await valuesFor(context, request, invocation, compiled, limit)
  const failsClosed = invocation.policy.spec.failurePolicy !== 'Ignore'
  const { holds, failure } = await conditionsHold({ CostLimit, isCelFailure }, compiled.conditions, values)
  if (failure !== undefined && failsClosed)
    return { ...NO_OBJECTION, refusals: [{ message: failure, reason: undefined, index: 0 }] }
  if (!holds) return NO_OBJECTION
  const refusals: Refusal[] = []
  for (const [index, { validation, check, message }] of compiled.validations.entries()) {
    const outcome = await evaluateOrFail(limit, check, values)
    if ('value' in outcome) {
      if (outcome.value === true) continue
      refusals.push({ message: await messageOf(limit, validation, message, values), reason: validation.reason, index })
    } else if (failsClosed) refusals.push({ message: outcome.failure, reason: undefined, index })
  }
  const annotations = await annotationsOf(limit, compiled, values, failsClosed, refusals)
  return { refusals, annotations }
}

/** An expression for the message that fails or says nothing is as good as none. */
async function messageOf(
  limit: CostLimit,
  { expression, message }: Validation,
  computed: Compiled[number] | undefined,
  values: CelVariables,
): Promise<string> {
  const plain = message?.trim() || `failed expression: ${expression.trim()}`
  if (!computed) return plain
  const outcome = await evaluateOrFail(limit, computed, values)
  if (!('value' in outcome) || typeof outcome.value !== 'string') return plain
  const text = outcome.value.trim()
  return text === '' || text.includes('\n') || text.length > MAX_MESSAGE ? plain : text
}

async function annotationsOf(
  limit: CostLimit,
  { annotations }: CompiledValidatingPolicy,
  values: CelVariables,
  failsClosed: boolean,
  refusals: Refusal[],
): Promise<Map<string, string>> {
  const found = new Map<string, string>()
  for (const [index, { key, value }] of annotations.entries()) {
    const outcome = await evaluateOrFail(limit, value, values)
    if ('value' in outcome) {
      if (typeof outcome.value === 'string' && outcome.value.trim() !== '')
        found.set(key, outcome.value.trim().slice(0, MAX_ANNOTATION))
    } else if (failsClosed) refusals.push({ message: outcome.failure, reason: undefined, index })
  }
  return found
}
