import type {
  MatchCondition,
  MatchResources,
  ParamKind,
  ParamRef,
  Variable,
} from '../../../api/generated/admissionregistration-v1.ts'
import type { KubernetesObject } from '../../../api/meta/object.ts'
import { getOrCreate } from '../../../base/get-or-create.ts'
import type { Lister } from '../lister.ts'
import type { Asked } from '../matching/match-index.ts'
import { type ResourceMatch, resourceMatch } from './match-resources.ts'

/** What validating and mutating policies share. */
export interface PolicySpec {
  readonly failurePolicy?: string
  readonly paramKind?: ParamKind
  readonly matchConstraints?: MatchResources
  readonly matchConditions?: MatchCondition[]
  readonly variables?: Variable[]
}

export interface BindingSpec {
  readonly policyName?: string
  readonly paramRef?: ParamRef
  readonly matchResources?: MatchResources
  readonly validationActions?: string[]
}

export interface Binding {
  readonly name: string
  readonly match: ResourceMatch | undefined
  readonly paramRef: ParamRef | undefined
  readonly actions: readonly string[]
}

/** A policy with those who put it to work. */
export interface Policy<S extends PolicySpec> extends Asked {
  readonly name: string
  readonly spec: S
  readonly match: ResourceMatch
  readonly bindings: readonly Binding[]
}

type PolicyObject<S> = KubernetesObject & { spec?: S }
type BindingObject = KubernetesObject & { spec?: BindingSpec }
type Listing<T> = Promise<readonly T[]> | readonly T[]

/** All policies that somebody bound, by name; the same array until one of them or a binding changes. */
export function boundPolicies<S extends PolicySpec>(
  policies: Lister<PolicyObject<S>>,
  bindings: Lister<BindingObject>,
): () => Listing<Policy<S>> {
  let last: [readonly PolicyObject<S>[], readonly BindingObject[]] = [[], []]
  let bound: readonly Policy<S>[] = []
  const bind = (ofPolicies: readonly PolicyObject<S>[], ofBindings: readonly BindingObject[]) => {
    if (ofPolicies !== last[0] || ofBindings !== last[1]) {
      last = [ofPolicies, ofBindings]
      bound = bindAll(ofPolicies, ofBindings)
    }
    return bound
  }
  return () => {
    const [some, others] = [policies.list(), bindings.list()]
    if (some instanceof Promise || others instanceof Promise)
      return Promise.all([some, others]).then(([a, b]) => bind(a, b))
    return bind(some, others)
  }
}

const byName = (a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : 1)

function bindAll<S extends PolicySpec>(
  policies: readonly PolicyObject<S>[],
  bindings: readonly BindingObject[],
): Policy<S>[] {
  const byPolicy = new Map<string, Binding[]>()
  for (const { metadata, spec = {} } of bindings)
    getOrCreate(byPolicy, spec.policyName ?? '', () => [] as Binding[]).push({
      name: metadata.name ?? '',
      match: spec.matchResources && resourceMatch(spec.matchResources),
      paramRef: spec.paramRef,
      actions: spec.validationActions ?? [],
    })
  return policies
    .flatMap(({ metadata, spec }): Policy<S>[] => {
      const name = metadata.name ?? ''
      const own = byPolicy.get(name)
      if (!own || !spec) return []
      const match = resourceMatch(spec.matchConstraints)
      return [{ name, spec, match, rules: match.rules, matchPolicy: match.matchPolicy, bindings: own.sort(byName) }]
    })
    .sort(byName)
}
