import type { MutatingAdmissionPolicySpec } from '../../../api/generated/admissionregistration-v1.ts'
import { ApiError, forbiddenAccess } from '../../../api/meta/api-error.ts'
import { getOrCreate } from '../../../base/get-or-create.ts'
import { noteChange, reinvocationOf } from '../matching/reinvocation.ts'
import type { AdmissionPlugin, AdmissionRequest } from '../plugin.ts'
import { type Invocation, type PolicyContext, PolicyDispatch } from './dispatch.ts'
import type { PolicyMetrics } from './metrics.ts'
import type { CompiledMutatingPolicy } from './mutation.ts'
import type { Policy } from './policies.ts'

type Spec = MutatingAdmissionPolicySpec
type Engine = typeof import('./mutation.ts') & typeof import('../matching/expressions.ts')

/** Policies that change objects by expressions. */
export function mutatingAdmissionPolicy(
  context: PolicyContext,
  list: () => Promise<readonly Policy<Spec>[]> | readonly Policy<Spec>[],
  metrics: PolicyMetrics,
): AdmissionPlugin {
  const dispatch = new PolicyDispatch(context, list)
  const compiled = new WeakMap<Spec, CompiledMutatingPolicy>()
  let loading: Promise<Engine> | undefined
  const invoke = async (request: AdmissionRequest, invocation: Invocation<Spec>) => {
    loading ??= loadEngine()
    const engine = await loading
    const expressions = await engine.loadExpressions()
    const { policy, binding, param } = invocation
    const reinvocation = reinvocationOf(request)
    const id = `policy ${policy.name}/${binding.name}/${param?.metadata.uid ?? ''}`
    if (reinvocation.round > 0 && !reinvocation.due.has(id)) return
    const program = getOrCreate(compiled, policy.spec, () => engine.compileMutatingPolicy(expressions, policy.spec))
    const { changed, failure } = await engine.mutate(context, request, invocation, program)
    metrics.checked(policy.name, binding.name, failure === undefined ? 'mutate' : 'error')
    if (failure !== undefined) refuse(request, invocation, failure)
    const wasDue = reinvocation.due.has(id)
    if (changed) noteChange(reinvocation)
    // A policy does not see again what it changed itself.
    if (!wasDue) reinvocation.due.delete(id)
    if (policy.spec.reinvocationPolicy === 'IfNeeded' && reinvocation.round === 0) reinvocation.waiting.add(id)
  }
  return {
    name: 'MutatingAdmissionPolicy',
    admit(request) {
      if (!request.draft) return
      return dispatch.find(request, (policies) =>
        dispatch.each(policies, request, {
          invoke: (invocation) => invoke(request, invocation),
          misconfigured: (policy, binding, why) => refuse(request, { policy, binding }, why),
        }),
      )
    },
  }
}

const loadEngine = async (): Promise<Engine> => ({
  ...(await import('./mutation.ts')),
  ...(await import('../matching/expressions.ts')),
})

/** Unless the policy does not mind. */
function refuse(
  { kind, name }: AdmissionRequest,
  { policy, binding }: Pick<Invocation<Spec>, 'policy' | 'binding'>,
  why: string,
): void {
  if (policy.spec.failurePolicy === 'Ignore') return
  const message = `policy '${policy.name}' with binding '${binding.name}' denied request: ${why}`
  const refusal = forbiddenAccess({ group: kind.group, resource: kind.plural }, name, message)
  throw new ApiError(422, 'Invalid', refusal.message, { ...refusal.details, causes: [{ message }] })
}
