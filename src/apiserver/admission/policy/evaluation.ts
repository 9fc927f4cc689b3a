import type { KubernetesObject } from '../../../api/meta/object.ts'
import type { CelVariables } from '../../../cel/compile.ts'
import { type CelValue, fromJson } from '../../../cel/values.ts'
import { Activation } from '../matching/activation.ts'
import {
  type CostLimit,
  type Expressions,
  isCelFailure,
  POLICY_VARIABLES,
  type VariableTypes,
} from '../matching/expressions.ts'
import type { Compiled } from '../matching/match-conditions.ts'
import { seenAs } from '../matching/seen-request.ts'
import { namespaceOf } from '../matching/selectors.ts'
import type { AdmissionRequest } from '../plugin.ts'
import type { Invocation, PolicyContext } from './dispatch.ts'
import type { PolicySpec } from './policies.ts'
import { attempt, type CompiledVariables, compileVariables, LazyVariables } from './variables.ts'

/** What all expressions of a policy may cost for one request and one parameter. */
export const POLICY_COST = 10_000_000

/** What every policy consists of, compiled. */
export interface CompiledPolicy {
  readonly conditions: Compiled
  readonly variables: CompiledVariables
}

/** `known` are types of variables of which more is known than that they are there. */
export function compilePolicy(expressions: Expressions, spec: PolicySpec, known: VariableTypes = NONE): CompiledPolicy {
  const base = new Map([...(spec.paramKind ? POLICY_VARIABLES : WITHOUT_PARAMS), ...known])
  const conditions = (spec.matchConditions ?? []).map(({ expression: text }) => ({
    text,
    program: attempt(() => expressions.compile(text, base, ['bool'])),
  }))
  return { conditions, variables: compileVariables(expressions, spec.variables ?? [], base) }
}

const NONE: VariableTypes = new Map()
const WITHOUT_PARAMS = new Map([...POLICY_VARIABLES].filter(([name]) => name !== 'params'))

/** The values of everything that the expressions of one invocation can speak of. */
export async function valuesFor(
  context: PolicyContext,
  request: AdmissionRequest,
  { kind, param }: Invocation<PolicySpec>,
  compiled: CompiledPolicy,
  limit: CostLimit,
): Promise<CelVariables> {
  const seen = await seenAs(context.kinds, request, kind)
  const namespaceObject: KubernetesObject | undefined = await namespaceOf(request, context.namespaces)
  const activation = new Activation({ request, kind, seen, authorizer: context.authorizer, namespaceObject })
  const more = new Map<string, CelValue>([['params', fromJson(param)]])
  const values = activation.with(more)
  more.set('variables', new LazyVariables(compiled.variables, limit, () => values))
  return values
}

/** The value of an expression, or the failure as messages tell it. */
export async function evaluateOrFail(
  limit: CostLimit,
  { text, program }: Compiled[number],
  values: CelVariables,
): Promise<{ readonly value: CelValue } | { readonly failure: string }> {
  try {
    if (program instanceof Error) throw program
    return { value: await limit.evaluate(program, values) }
  } catch (error) {
    if (!isCelFailure(error)) throw error
    return { failure: `expression '${text}' resulted in error: ${error.message}` }
  }
}
