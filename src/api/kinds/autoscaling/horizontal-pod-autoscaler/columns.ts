import type { HorizontalPodAutoscaler, MetricSpec, MetricStatus } from '../../../generated/autoscaling-v2.ts'
import type { Column } from '../../../kind.ts'
import { ageColumn, column, nameColumn } from '../../core/printed-columns.ts'

const UNKNOWN = '<unknown>'
const MAX_SHOWN = 2

export const horizontalPodAutoscalerColumns: readonly Column<HorizontalPodAutoscaler>[] = [
  nameColumn,
  column('Reference', 'What is scaled.', ({ spec }) => {
    const { kind = '', name = '' } = spec?.scaleTargetRef ?? {}
    return `${kind}/${name}`
  }),
  column('Targets', 'Measured and wanted values.', ({ spec, status }) =>
    metricsText(spec?.metrics ?? [], status?.currentMetrics ?? []),
  ),
  column('MinPods', 'Never fewer pods.', ({ spec }) =>
    spec?.minReplicas === undefined ? '<unset>' : `${spec.minReplicas}`,
  ),
  column('MaxPods', 'Never more pods.', ({ spec }) => spec?.maxReplicas ?? 0),
  column('Replicas', 'Pods when last counted.', ({ status }) => status?.currentReplicas ?? 0),
  ageColumn,
]

function metricsText(metrics: readonly MetricSpec[], statuses: readonly MetricStatus[]): string {
  if (metrics.length === 0) return '<none>'
  const texts = metrics.map((metric, i) => metricText(metric, statuses[i]))
  const shown = texts.slice(0, MAX_SHOWN).join(', ')
  return texts.length > MAX_SHOWN ? `${shown} + ${texts.length - MAX_SHOWN} more...` : shown
}

/** `measured/wanted`, in the unit that is wanted. */
function metricText(metric: MetricSpec, status: MetricStatus | undefined): string {
  switch (metric.type) {
    case 'External':
    case 'Object': {
      const field = metric.type === 'External' ? 'external' : 'object'
      const target = metric[field]?.target
      const current = status?.[field]?.current
      return target?.averageValue === undefined
        ? `${current?.value ?? UNKNOWN}/${target?.value ?? UNKNOWN}`
        : `${current?.averageValue ?? UNKNOWN}/${target.averageValue} (avg)`
    }
    case 'Pods':
      return `${status?.pods?.current?.averageValue ?? UNKNOWN}/${metric.pods?.target?.averageValue ?? UNKNOWN}`
    case 'Resource':
    case 'ContainerResource':
      return resourceText(metric, status, metric.type === 'Resource' ? 'resource' : 'containerResource')
    default:
      return '<unknown type>'
  }
}

function resourceText(
  metric: MetricSpec,
  status: MetricStatus | undefined,
  field: 'resource' | 'containerResource',
): string {
  const source = metric[field]
  const current = status?.[field]?.current
  if (source?.target?.averageValue !== undefined)
    return `${source.name}: ${current?.averageValue ?? UNKNOWN}/${source.target.averageValue}`
  const percent = (value: number | undefined, absent: string) => (value === undefined ? absent : `${value}%`)
  const measured = percent(current?.averageUtilization, UNKNOWN)
  return `${source?.name ?? ''}: ${measured}/${percent(source?.target?.averageUtilization, '<auto>')}`
}
