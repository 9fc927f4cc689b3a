import type { Labels } from '../../api/meta/label-selector.ts'
import type { AffinityTerm } from './affinity-term.ts'
import type { PodCounter } from './pod-counter.ts'
import type { PodFacts } from './pod-facts.ts'

export type OwnedTermKind = 'requiredAntiAffinity' | 'requiredAffinity' | 'preferredAffinity' | 'preferredAntiAffinity'

/** A term that pods on nodes carry: it concerns pods that come later. */
export interface OwnedTerm {
  readonly kind: OwnedTermKind
  readonly term: AffinityTerm
  readonly weight: number
  readonly signature: string
}

/**
 * Pods that count alike: the same namespace, labels and affinity terms. Knows on which nodes they are, so that a new
 * counter can start with the truth.
 */
export interface PodProfile {
  readonly key: string
  readonly namespace: string
  readonly labels: Labels
  readonly owned: readonly OwnedTerm[]
  /** One entry per time that a pod of the profile counts. */
  counters: PodCounter[]
  /** Pods by node, and how many of these are terminating. */
  readonly nodes: Map<number, number>
  readonly terminating: Map<number, number>
}

export function profileKey(facts: PodFacts): string {
  const { labels } = facts.pod.metadata
  const own = facts.pod.spec?.affinity
  const hasTerms = own?.podAffinity !== undefined || own?.podAntiAffinity !== undefined
  const terms = hasTerms ? JSON.stringify([own.podAffinity, own.podAntiAffinity]) : ''
  return `${facts.namespace}|${labels ? JSON.stringify(labels) : ''}|${terms}`
}

export function newProfile(key: string, facts: PodFacts): PodProfile {
  return {
    key,
    namespace: facts.namespace,
    labels: facts.pod.metadata.labels,
    owned: ownedTerms(facts),
    counters: [],
    nodes: new Map(),
    terminating: new Map(),
  }
}

function ownedTerms(facts: PodFacts): OwnedTerm[] {
  const owned = (kind: OwnedTermKind, term: AffinityTerm, weight: number): OwnedTerm => ({
    kind,
    term,
    weight,
    signature: `${kind}|${weight}|${term.signature}`,
  })
  return [
    ...facts.requiredAntiAffinity.map((term) => owned('requiredAntiAffinity', term, 1)),
    ...facts.requiredAffinity.map((term) => owned('requiredAffinity', term, 1)),
    ...facts.preferredAffinity.map(({ term, weight }) => owned('preferredAffinity', term, weight)),
    ...facts.preferredAntiAffinity.map(({ term, weight }) => owned('preferredAntiAffinity', term, weight)),
  ]
}
