import { type Column, defineKind } from '../../api/kind.ts'
import { column, nameColumn } from '../../api/kinds/core/printed-columns.ts'
import type { KubernetesObject } from '../../api/meta/object.ts'
import { addQuantities, formatQuantity, parseQuantity } from '../../api/meta/quantity.ts'
import type { Schema } from '../../api/schema/schema.ts'
import type { NodeMetrics, PodMetrics, ResourceUsage } from '../../client/metrics-source.ts'

export type NodeMetricsObject = KubernetesObject & NodeMetrics
export type PodMetricsObject = KubernetesObject & PodMetrics

const GROUP_VERSION = { group: 'metrics.k8s.io', version: 'v1beta1', singular: '', verbs: ['get', 'list'] } as const

const USAGE: Schema = { type: 'object', additionalProperties: { intOrString: true } }
const MEASURED: Readonly<Record<string, Schema>> = {
  timestamp: { type: 'string', format: 'date-time' },
  window: { type: 'string' },
}

export const nodeMetricsKind = defineKind<NodeMetricsObject>({
  ...GROUP_VERSION,
  kind: 'NodeMetrics',
  plural: 'nodes',
  namespaced: false,
  schema: {
    type: 'object',
    required: ['timestamp', 'window', 'usage'],
    properties: { ...MEASURED, usage: USAGE },
  },
  columns: usageColumns(({ usage }) => [usage]),
})

export const podMetricsKind = defineKind<PodMetricsObject>({
  ...GROUP_VERSION,
  kind: 'PodMetrics',
  plural: 'pods',
  schema: {
    type: 'object',
    required: ['timestamp', 'window', 'containers'],
    properties: {
      ...MEASURED,
      containers: {
        type: 'array',
        items: {
          type: 'object',
          required: ['name', 'usage'],
          properties: { name: { type: 'string' }, usage: USAGE },
        },
      },
    },
  },
  columns: usageColumns(({ containers }) => containers.map(({ usage }) => usage)),
})

function usageColumns<T extends KubernetesObject & { readonly window: string }>(
  usagesOf: (metrics: T) => readonly ResourceUsage[],
): Column<T>[] {
  const sum = (resource: string) => (metrics: T) =>
    formatQuantity(
      usagesOf(metrics)
        .map((usage) => parseQuantity(usage[resource] ?? '0')!)
        .reduce(addQuantities),
    )
  return [
    nameColumn,
    column<T>('cpu', 'Processor time used, in cores.', sum('cpu')),
    column<T>('memory', 'Memory in use.', sum('memory')),
    column<T>('Window', 'The time over which was measured.', ({ window }) => window),
  ]
}
