import type { Node } from '../../../generated/core-v1.ts'
import { defineKind } from '../../../kind.ts'
import { keepField, statusSubresource } from '../../../strategy.ts'
import { canonicalizeResources } from '../resource-list.ts'
import { nodeColumns } from './columns.ts'
import { validateNode, validateNodeUpdate } from './validation.ts'

export const nodeKind = defineKind<Node>({
  group: '',
  version: 'v1',
  kind: 'Node',
  plural: 'nodes',
  shortNames: ['no'],
  namespaced: false,
  schema: 'io.k8s.api.core.v1.Node',
  defaults,
  prepareCreate,
  prepareUpdate,
  validate: validateNode,
  validateUpdate: validateNodeUpdate,
  warnings,
  selectableFields: { 'spec.unschedulable': (node) => String(node.spec?.unschedulable ?? false) },
  columns: nodeColumns,
  subresources: {
    status: statusSubresource<Node>({ prepareUpdate: prepareStatusUpdate }),
    proxy: {
      type: 'action',
      verbs: ['create', 'delete', 'get', 'patch', 'update'],
      group: '',
      version: 'v1',
      kind: 'NodeProxyOptions',
    },
  },
})

function defaults(draft: Node): void {
  const { spec, status } = draft
  if (status?.capacity && !status.allocatable) status.allocatable = { ...status.capacity }
  canonicalizeResources(status?.capacity)
  canonicalizeResources(status?.allocatable)
  if (spec) syncPodCidrs(spec)
}

/** `podCIDR` is the first of `podCIDRs`; whoever sets only one of them means both. */
function syncPodCidrs(spec: NonNullable<Node['spec']>): void {
  if (spec.podCIDR && spec.podCIDRs?.[0] !== spec.podCIDR) spec.podCIDRs = [spec.podCIDR]
  else if (spec.podCIDRs?.[0]) spec.podCIDR = spec.podCIDRs[0]
}

/** A kubelet registers itself with its status, so creation keeps it. */
function prepareCreate(draft: Node): void {
  draft.spec ??= {}
  delete draft.spec.configSource
  if (draft.status) delete draft.status.config
}

function prepareUpdate(draft: Node, old: Node): void {
  keepField(draft, old, 'status')
  draft.spec ??= {}
  if (!old.spec?.configSource) delete draft.spec.configSource
}

/** The kubelet keeps the labels it owns up to date together with its status. */
function prepareStatusUpdate(draft: Node, old: Node): void {
  keepField(draft, old, 'spec')
}

function warnings(node: Node): string[] {
  const messages: string[] = []
  if (node.spec?.configSource) messages.push('spec.configSource: the feature is removed')
  if (node.spec?.externalID) messages.push('spec.externalID: this field is deprecated, and is unused by Kubernetes')
  return messages
}
