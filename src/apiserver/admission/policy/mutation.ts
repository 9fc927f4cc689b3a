import type { MutatingAdmissionPolicySpec } from '../../../api/generated/admissionregistration-v1.ts'
import type { Json, KubernetesObject } from '../../../api/meta/object.ts'
import { toJson } from '../../../cel/to-json.ts'
import { type CelType, DYN, objectOf, STRING } from '../../../cel/types.ts'
import type { CelValue } from '../../../cel/values.ts'
import { jsonPatch } from '../../../patch/json-patch.ts'
import { cloneJson } from '../../../patch/json-value.ts'
import { changeDraft } from '../matching/change-draft.ts'
import { CostLimit, type Expressions, isCelFailure } from '../matching/expressions.ts'
import { type Compiled, conditionsHold } from '../matching/match-conditions.ts'
import { seenAs } from '../matching/seen-request.ts'
import type { AdmissionRequest } from '../plugin.ts'
import { applyConfiguration, MutationProblem } from './apply-configuration.ts'
import type { Invocation, PolicyContext } from './dispatch.ts'
import { type CompiledPolicy, compilePolicy, evaluateOrFail, POLICY_COST, valuesFor } from './evaluation.ts'
import { attempt } from './variables.ts'

type Spec = MutatingAdmissionPolicySpec

export interface CompiledMutation {
  readonly type: string
  readonly patch: Compiled[number]
}

export interface CompiledMutatingPolicy extends CompiledPolicy {
  readonly mutations: readonly CompiledMutation[]
}

const PATCH_FIELDS: Readonly<Record<string, CelType>> = { op: STRING, path: STRING, from: STRING, value: DYN }
const PATCH = objectOf('JSONPatch', (name) => (Object.hasOwn(PATCH_FIELDS, name) ? PATCH_FIELDS[name] : undefined))

/** `Object`, `Object.spec` and so on, and operations of a JSON patch. */
function mutationTypes(name: string): CelType | undefined {
  if (name === 'JSONPatch') return PATCH
  return /^Object(\.\w+)*$/.test(name) ? objectOf(name, () => DYN) : undefined
}

export function compileMutatingPolicy(expressions: Expressions, spec: Spec): CompiledMutatingPolicy {
  const common = compilePolicy(expressions, spec)
  const mutations = (spec.mutations ?? []).map(({ patchType: type, applyConfiguration: apply, jsonPatch: patch }) => {
    const text = (type === 'JSONPatch' ? patch?.expression : apply?.expression) ?? ''
    const wanted = type === 'JSONPatch' ? 'list' : 'Object'
    const compile = () => expressions.compile(text, common.variables.types, [wanted], mutationTypes)
    return { type, patch: { text, program: attempt(compile) } }
  })
  return { ...common, mutations }
}

export interface MutationOutcome {
  readonly changed: boolean
  readonly failure?: string
}

/** Lets one policy with one parameter change the draft. Each mutation sees what those before it did. */
export async function mutate(
  context: PolicyContext,
  request: AdmissionRequest,
  invocation: Invocation<Spec>,
  compiled: CompiledMutatingPolicy,
): Promise<MutationOutcome> {
  const limit = new CostLimit(POLICY_COST)
  const first = await valuesFor(context, request, invocation, compiled, limit)
  const { holds, failure } = await conditionsHold({ CostLimit, isCelFailure }, compiled.conditions, first)
  if (!holds) return { changed: false, ...(failure !== undefined && { failure }) }
  let changed = false
  let values = first
  for (const { type, patch } of compiled.mutations) {
    const outcome = await evaluateOrFail(limit, patch, values)
    if ('failure' in outcome) return { changed, failure: outcome.failure }
    try {
      const isNews = await applyTo(context, request, invocation, type, outcome.value)
      if (isNews) values = await valuesFor(context, request, invocation, compiled, limit)
      changed ||= isNews
    } catch (error) {
      if (!(error instanceof Error)) throw error
      return { changed, failure: `error applying patch: ${error.message}` }
    }
  }
  return { changed }
}

async function applyTo(
  { kinds }: PolicyContext,
  request: AdmissionRequest,
  { kind }: Invocation<Spec>,
  type: string,
  value: CelValue,
): Promise<boolean> {
  const { object } = await seenAs(kinds, request, kind)
  if (!object) throw new MutationProblem('there is no object to mutate')
  const patch = toJson(value)
  if (type !== 'JSONPatch') return changeDraft(kinds, request, kind, applyConfiguration(object, patch, kind.schema))
  const copy = cloneJson(object as unknown as Json) as unknown as KubernetesObject
  return changeDraft(kinds, request, kind, jsonPatch(copy, patch))
}
