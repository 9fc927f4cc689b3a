import type { ValidatingAdmissionPolicySpec } from '../../../api/generated/admissionregistration-v1.ts'
import { ApiError, forbiddenAccess } from '../../../api/meta/api-error.ts'
import { getOrCreate } from '../../../base/get-or-create.ts'
import type { AdmissionPlugin, AdmissionRequest } from '../plugin.ts'
import { type Invocation, type PolicyContext, PolicyDispatch } from './dispatch.ts'
import type { PolicyMetrics } from './metrics.ts'
import type { Binding, Policy } from './policies.ts'
import type { CompiledValidatingPolicy, Refusal, Verdict } from './validation.ts'

type Spec = ValidatingAdmissionPolicySpec
type Engine = typeof import('./validation.ts') & typeof import('../matching/expressions.ts')

const CODES: Readonly<Record<string, number>> = { Unauthorized: 401, Forbidden: 403, RequestEntityTooLarge: 413 }

/** Policies that are expressions: asked here, without a word to anybody outside. */
export function validatingAdmissionPolicy(
  context: PolicyContext,
  list: () => Promise<readonly Policy<Spec>[]> | readonly Policy<Spec>[],
  metrics: PolicyMetrics,
): AdmissionPlugin {
  const dispatch = new PolicyDispatch(context, list)
  const compiled = new WeakMap<Spec, CompiledValidatingPolicy>()
  let loading: Promise<Engine> | undefined
  return {
    name: 'ValidatingAdmissionPolicy',
    validate: (request) =>
      dispatch.find(request, async (policies) => {
        loading ??= loadEngine()
        const engine = await loading
        const expressions = await engine.loadExpressions()
        const ruling = new Ruling(request, metrics)
        await dispatch.each(policies, request, {
          async invoke(invocation) {
            const { spec } = invocation.policy
            const program = getOrCreate(compiled, spec, () => engine.compileValidatingPolicy(expressions, spec))
            ruling.take(invocation, await engine.judge(context, request, invocation, program))
          },
          misconfigured: (policy, binding, message) => {
            if (policy.spec.failurePolicy === 'Ignore') return
            ruling.refuse(policy, binding, { message, reason: undefined, index: 0 })
          },
        })
        ruling.pronounce()
      }),
  }
}

const loadEngine = async (): Promise<Engine> => ({
  ...(await import('./validation.ts')),
  ...(await import('../matching/expressions.ts')),
})

/** Collects what all policies think, and acts on it as their bindings say. */
class Ruling {
  readonly #request: AdmissionRequest
  readonly #metrics: PolicyMetrics
  readonly #denied: string[] = []
  readonly #audited: object[] = []
  readonly #annotations = new Map<string, Set<string>>()
  #reason: string | undefined = undefined

  constructor(request: AdmissionRequest, metrics: PolicyMetrics) {
    this.#request = request
    this.#metrics = metrics
  }

  take({ policy, binding }: Invocation<Spec>, { refusals, annotations }: Verdict): void {
    for (const refusal of refusals) this.refuse(policy, binding, refusal)
    if (refusals.length === 0) this.#metrics.checked(policy.name, binding.name, 'allow')
    for (const [key, value] of annotations)
      getOrCreate(this.#annotations, `${policy.name}/${key}`, () => new Set<string>()).add(value)
  }

  refuse(policy: Policy<Spec>, binding: Binding, refusal: Refusal): void {
    const { message, reason, index } = refusal
    for (const action of binding.actions) {
      this.#metrics.checked(policy.name, binding.name, action.toLowerCase())
      if (action === 'Deny') {
        if (this.#denied.length === 0) this.#reason = reason
        this.#denied.push(
          `ValidatingAdmissionPolicy '${policy.name}' with binding '${binding.name}' denied request: ${message}`,
        )
      } else if (action === 'Warn')
        this.#request.warn(
          `Validation failed for ValidatingAdmissionPolicy '${policy.name}' with binding '${binding.name}': ${message}`,
        )
      else if (action === 'Audit')
        this.#audited.push({
          message,
          policy: policy.name,
          binding: binding.name,
          expressionIndex: index,
          validationActions: binding.actions,
        })
    }
  }

  /** Of several refusals the first is told. */
  pronounce(): void {
    const request = this.#request
    const { kind, name } = request
    for (const [key, values] of this.#annotations) request.annotate?.(key, [...values].join(', '))
    if (this.#audited.length > 0)
      request.annotate?.('validation.policy.admission.k8s.io/validation_failure', JSON.stringify(this.#audited))
    const [first] = this.#denied
    if (first === undefined) return
    const refusal = forbiddenAccess({ group: kind.group, resource: kind.plural }, name, first)
    const reason = this.#reason || 'Invalid'
    throw new ApiError(CODES[reason] ?? 422, reason, refusal.message, {
      ...refusal.details,
      causes: [{ message: first }],
    })
  }
}
