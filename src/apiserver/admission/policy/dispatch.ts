import type { Kind } from '../../../api/kind.ts'
import type { KubernetesObject } from '../../../api/meta/object.ts'
import type { Authorizer } from '../../authorization/authorizer.ts'
import type { KindTable } from '../../kind-table.ts'
import type { CacheFeed } from '../../watch-cache/cache-feed.ts'
import { MatchIndex } from '../matching/match-index.ts'
import { isExempt } from '../matching/selectors.ts'
import type { AdmissionRequest } from '../plugin.ts'
import { type MatchContext, matchRequest } from './match-resources.ts'
import { BindingProblem, findParams } from './params.ts'
import type { Binding, Policy, PolicySpec } from './policies.ts'

export interface PolicyContext extends MatchContext {
  readonly feed: CacheFeed
  readonly kinds: KindTable
  readonly authorizer: Authorizer
  /** Nobody is asked before the server is up. */
  readonly isUp: () => boolean
}

/** One policy that is asked about one request. */
export interface Invocation<S extends PolicySpec> {
  readonly policy: Policy<S>
  readonly binding: Binding
  readonly param: KubernetesObject | undefined
  /** The version in which the request is seen. */
  readonly kind: Kind
}

/** What happens to those who are asked. */
export interface Invoked<S extends PolicySpec> {
  invoke(invocation: Invocation<S>): Promise<void>
  /** The binding cannot be put to work. */
  misconfigured(policy: Policy<S>, binding: Binding, why: string): void
}

/** Finds the policies that a request concerns. */
export class PolicyDispatch<S extends PolicySpec> {
  readonly #context: PolicyContext
  readonly #index: MatchIndex<Policy<S>>

  constructor(context: PolicyContext, list: () => Promise<readonly Policy<S>[]> | readonly Policy<S>[]) {
    this.#context = context
    this.#index = new MatchIndex(list, context.kinds)
  }

  /** Waits for nothing where the request concerns no policy. */
  find(request: AdmissionRequest, run: (policies: readonly Policy<S>[]) => Promise<void>): void | Promise<void> {
    if (!this.#context.isUp() || isExempt(request)) return
    const matches = this.#index.find(request)
    if (matches instanceof Promise)
      return matches.then((found) => (found.length > 0 ? run(found.map(({ asked }) => asked)) : undefined))
    if (matches.length > 0) return run(matches.map(({ asked }) => asked))
  }

  /** Every binding of the policies, with every parameter. */
  async each(policies: readonly Policy<S>[], request: AdmissionRequest, invoked: Invoked<S>): Promise<void> {
    for (const policy of policies) {
      const kind = await matchRequest(this.#context, policy.match, request)
      if (!kind) continue
      for (const binding of policy.bindings) {
        if (binding.match && !(await matchRequest(this.#context, binding.match, request))) continue
        await this.#withParams(policy, binding, request, kind, invoked)
      }
    }
  }

  async #withParams(
    policy: Policy<S>,
    binding: Binding,
    request: AdmissionRequest,
    kind: Kind,
    invoked: Invoked<S>,
  ): Promise<void> {
    const { feed, kinds } = this.#context
    let params: readonly (KubernetesObject | undefined)[]
    try {
      params = await findParams(feed, kinds, policy.spec.paramKind, binding.paramRef, request.namespace)
    } catch (error) {
      if (!(error instanceof BindingProblem)) throw error
      return invoked.misconfigured(policy, binding, `failed to configure binding: ${error.message}`)
    }
    for (const param of params) await invoked.invoke({ policy, binding, param, kind })
  }
}
