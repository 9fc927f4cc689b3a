import type { MatchResources } from '../../../api/generated/admissionregistration-v1.ts'
import type { Namespace } from '../../../api/generated/core-v1.ts'
import type { Kind } from '../../../api/kind.ts'
import type { Selector } from '../../../api/meta/label-selector.ts'
import type { Lister } from '../lister.ts'
import { type Rule, ruleMatches } from '../matching/rules.ts'
import { selectorOf, selectsNamespace, selectsObject } from '../matching/selectors.ts'
import type { EquivalentKinds } from '../matching/versions.ts'
import type { AdmissionRequest } from '../plugin.ts'

/** What a policy or a binding is about, with its selectors ready. */
export interface ResourceMatch {
  readonly rules: readonly Rule[]
  readonly excluded: readonly Rule[]
  readonly matchPolicy: string | undefined
  readonly namespaceSelector: Selector
  readonly objectSelector: Selector
}

export interface MatchContext {
  readonly equivalents: EquivalentKinds
  readonly namespaces: Lister<Namespace>
}

export const resourceMatch = (match: MatchResources = {}): ResourceMatch => ({
  rules: match.resourceRules ?? [],
  excluded: match.excludeResourceRules ?? [],
  matchPolicy: match.matchPolicy,
  namespaceSelector: selectorOf(match.namespaceSelector),
  objectSelector: selectorOf(match.objectSelector),
})

/** The version in which a request is seen, or undefined if it is not meant. No rules at all mean everything. */
export async function matchRequest(
  context: MatchContext,
  match: ResourceMatch,
  request: AdmissionRequest,
): Promise<Kind | undefined> {
  const asked = request.requestKind ?? request.kind
  const kinds = match.matchPolicy === 'Exact' ? [asked] : context.equivalents.of(asked)
  const kind = match.rules.length === 0 ? asked : kindOf(match.rules, kinds, request)
  if (!kind || kindOf(match.excluded, kinds, request)) return undefined
  if (!selectsObject(match.objectSelector, request)) return undefined
  return (await selectsNamespace(match.namespaceSelector, request, context.namespaces)) ? kind : undefined
}

function kindOf(rules: readonly Rule[], kinds: readonly Kind[], request: AdmissionRequest): Kind | undefined {
  const { subresource, operation, name } = request
  return kinds.find((kind) =>
    rules.some(
      (rule) =>
        ruleMatches(rule, kind, subresource, operation) &&
        (!rule.resourceNames?.length || rule.resourceNames.includes(name)),
    ),
  )
}
