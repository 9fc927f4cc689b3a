import type { NetworkPolicy, NetworkPolicyPeer, NetworkPolicySpec } from '../../../generated/networking-v1.ts'
import { defineKind } from '../../../kind.ts'
import { FieldPath } from '../../../meta/field-path.ts'
import { cidrWarnings } from '../../../meta/ip-validation.ts'
import { raiseGeneration } from '../../../strategy.ts'
import { ageColumn, column, nameColumn } from '../../core/printed-columns.ts'
import { formatPodSelector } from './pod-selector.ts'
import { validateNetworkPolicy } from './validation.ts'

export const networkPolicyKind = defineKind<NetworkPolicy>({
  group: 'networking.k8s.io',
  version: 'v1',
  kind: 'NetworkPolicy',
  plural: 'networkpolicies',
  shortNames: ['netpol'],
  schema: 'io.k8s.api.networking.v1.NetworkPolicy',
  defaults: networkPolicyDefaults,
  prepareCreate(draft) {
    draft.metadata.generation = 1
  },
  prepareUpdate: raiseGeneration,
  validate: validateNetworkPolicy,
  warnings(policy) {
    const { ingress = [], egress = [] } = policy.spec ?? {}
    return [
      ...ingress.flatMap((rule, i) =>
        peerWarnings(rule.from, FieldPath.root('spec').child('ingress').index(i).child('from')),
      ),
      ...egress.flatMap((rule, i) =>
        peerWarnings(rule.to, FieldPath.root('spec').child('egress').index(i).child('to')),
      ),
    ]
  },
  columns: [
    nameColumn,
    column<NetworkPolicy>('Pod-Selector', 'Labels of the pods it applies to.', (policy) =>
      formatPodSelector(policy.spec?.podSelector),
    ),
    ageColumn,
  ],
})

/** A policy that does not say restricts what comes in, and what goes out if it has rules for that. */
function networkPolicyDefaults(draft: NetworkPolicy): void {
  draft.spec ??= {}
  const spec: NetworkPolicySpec = draft.spec
  spec.podSelector ??= {}
  if (!spec.policyTypes?.length) spec.policyTypes = spec.egress?.length ? ['Ingress', 'Egress'] : ['Ingress']
  for (const rule of spec.ingress ?? []) for (const port of rule.ports ?? []) port.protocol ??= 'TCP'
  for (const rule of spec.egress ?? []) for (const port of rule.ports ?? []) port.protocol ??= 'TCP'
}

function peerWarnings(peers: readonly NetworkPolicyPeer[] | undefined, path: FieldPath): string[] {
  return (peers ?? []).flatMap(({ ipBlock }, i) => {
    if (!ipBlock) return []
    const blockPath = path.index(i).child('ipBlock')
    const except = ipBlock.except ?? []
    return [
      ...cidrWarnings(blockPath.child('cidr'), ipBlock.cidr ?? ''),
      ...except.flatMap((cidr, j) => cidrWarnings(blockPath.child('except').index(j), cidr)),
    ]
  })
}
