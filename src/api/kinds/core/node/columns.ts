import type { Node } from '../../../generated/core-v1.ts'
import type { Column } from '../../../kind.ts'
import { ageColumn, column, nameColumn, wideColumn } from '../printed-columns.ts'

const ROLE_PREFIX = 'node-role.kubernetes.io/'
const ROLE_LABEL = 'kubernetes.io/role'

export const nodeColumns: readonly Column<Node>[] = [
  nameColumn,
  column('Status', 'Ready or not, and whether it takes pods.', status),
  column('Roles', 'What the node is for.', roles),
  ageColumn,
  column('Version', 'Version of the kubelet.', (node) => node.status?.nodeInfo?.kubeletVersion ?? ''),
  wideColumn('Internal-IP', 'Address inside the cluster.', (node) => address(node, 'InternalIP')),
  wideColumn('External-IP', 'Address reachable from outside.', (node) => address(node, 'ExternalIP')),
  wideColumn('OS-Image', 'Operating system of the node.', (node) => node.status?.nodeInfo?.osImage || '<unknown>'),
  wideColumn('Kernel-Version', 'Kernel and architecture of the node.', kernel),
  wideColumn(
    'Container-Runtime',
    'Container runtime and its version.',
    (node) => node.status?.nodeInfo?.containerRuntimeVersion || '<unknown>',
  ),
]

function status(node: Node): string {
  const ready = node.status?.conditions?.findLast((condition) => condition.type === 'Ready')
  const words = [ready === undefined ? 'Unknown' : ready.status === 'True' ? 'Ready' : 'NotReady']
  if (node.spec?.unschedulable) words.push('SchedulingDisabled')
  return words.join(',')
}

function roles(node: Node): string {
  const found = new Set<string>()
  const labels = node.metadata.labels ?? {}
  for (const key in labels) {
    if (key.startsWith(ROLE_PREFIX) && key.length > ROLE_PREFIX.length) found.add(key.slice(ROLE_PREFIX.length))
    else if (key === ROLE_LABEL && labels[key]) found.add(labels[key])
  }
  return [...found].sort().join(',') || '<none>'
}

function address(node: Node, type: string): string {
  return node.status?.addresses?.find((candidate) => candidate.type === type)?.address ?? '<none>'
}

function kernel(node: Node): string {
  const { kernelVersion, architecture } = node.status?.nodeInfo ?? {}
  return (kernelVersion || '<unknown>') + (architecture ? ` (${architecture})` : '')
}
