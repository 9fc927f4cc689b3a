import type { PodAffinityTerm } from '../../api/generated/core-v1.ts'
import {
  compileLabelSelector,
  formatSelector,
  type Labels,
  matchesLabels,
  type Selector,
  selectsEverything,
} from '../../api/meta/label-selector.ts'

export type NamespaceLabels = (namespace: string) => Labels

/** Which pods a term of inter-pod affinity is about, in which kind of place. */
export interface AffinityTerm {
  readonly topologyKey: string
  readonly selector: Selector
  readonly namespaces: ReadonlySet<string>
  readonly namespaceSelector: Selector | undefined
  /** Equal for terms that mean the same. */
  readonly signature: string
}

export function affinityTerm(term: PodAffinityTerm, ownNamespace: string): AffinityTerm {
  const selector = compileLabelSelector(term.labelSelector)
  const named = term.namespaces ?? []
  const namespaceSelector = term.namespaceSelector && compileLabelSelector(term.namespaceSelector)
  // Naming neither namespaces nor a selector of them means the pod's own.
  const namespaces = new Set(named.length === 0 && !namespaceSelector ? [ownNamespace] : named)
  const scope = namespaceSelector ? `<${formatSelector(namespaceSelector)}>` : ''
  const signature = `${term.topologyKey}|${selectorText(selector)}|${[...namespaces].sort().join(',')}${scope}`
  return { topologyKey: term.topologyKey, selector, namespaces, namespaceSelector, signature }
}

/** The text form of a selector; nothing and everything are told apart. */
export const selectorText = (selector: Selector): string =>
  selector.requirements === 'nothing' ? '<none>' : formatSelector(selector)

export function termMatches(
  term: AffinityTerm,
  namespace: string,
  labels: Labels,
  namespaces: NamespaceLabels,
): boolean {
  return termCoversNamespace(term, namespace, namespaces) && matchesLabels(term.selector, labels)
}

function termCoversNamespace(term: AffinityTerm, namespace: string, namespaces: NamespaceLabels): boolean {
  if (term.namespaces.has(namespace)) return true
  const { namespaceSelector } = term
  if (!namespaceSelector) return false
  return selectsEverything(namespaceSelector) || matchesLabels(namespaceSelector, namespaces(namespace))
}
