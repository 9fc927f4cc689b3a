import { describe, expect, test } from 'vitest'
import type { HorizontalPodAutoscaler as V1 } from '../../generated/autoscaling-v1.ts'
import type { HorizontalPodAutoscaler, MetricSpec } from '../../generated/autoscaling-v2.ts'
import { cells, created, texts } from '../workload.fixture.ts'
import { horizontalPodAutoscalerKind as kind } from './horizontal-pod-autoscaler/kind.ts'
import { horizontalPodAutoscalerConversion as conversion } from './horizontal-pod-autoscaler-v1/conversion.ts'
import { horizontalPodAutoscalerV1Kind as v1Kind } from './horizontal-pod-autoscaler-v1/kind.ts'

const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' }
const base = { scaleTargetRef, maxReplicas: 3 }
const cpu = { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } } }
const metric = (target: object, rest: object = {}) => ({
  metrics: [{ type: 'Pods', pods: { metric: { name: 'qps' }, target: { type: 'AverageValue', ...target } }, ...rest }],
})

describe('defaults', () => {
  test('cpu', () => {
    expect(created(kind, base).spec).toEqual({ ...base, minReplicas: 1, metrics: [cpu] })
  })

  test('behavior is completed', () => {
    expect(
      created(kind, { ...base, behavior: { scaleDown: { stabilizationWindowSeconds: 60 } } }).spec.behavior,
    ).toEqual({
      scaleUp: {
        stabilizationWindowSeconds: 0,
        selectPolicy: 'Max',
        policies: [
          { type: 'Pods', value: 4, periodSeconds: 15 },
          { type: 'Percent', value: 100, periodSeconds: 15 },
        ],
      },
      scaleDown: {
        stabilizationWindowSeconds: 60,
        selectPolicy: 'Max',
        policies: [{ type: 'Percent', value: 100, periodSeconds: 15 }],
      },
    })
  })
})

describe('validation', () => {
  test.each<[what: string, spec: object, ...errors: string[]]>([
    ['is fine', {}],
    [
      'no maximum',
      { maxReplicas: undefined },
      'spec.maxReplicas: Required value: must be set and greater than 0',
      'spec.maxReplicas: Invalid value: 0: must be greater than or equal to `minReplicas`',
    ],
    [
      'minimum zero',
      { minReplicas: 0 },
      'spec.minReplicas: Invalid value: 0: must be greater than or equal to 1',
      'spec.metrics: Forbidden: must specify at least one Object or External metric to support scaling to zero replicas',
    ],
    [
      'maximum below minimum',
      { minReplicas: 5 },
      'spec.maxReplicas: Invalid value: 3: must be greater than or equal to `minReplicas`',
    ],
    [
      'no target',
      { scaleTargetRef: { apiVersion: 'apps/v1' } },
      'spec.scaleTargetRef.kind: Required value',
      'spec.scaleTargetRef.name: Required value',
    ],
    [
      'no group',
      { scaleTargetRef: { kind: 'Deployment', name: 'x' } },
      'spec.scaleTargetRef.apiVersion: Invalid value: "": apiVersion must specify API group',
    ],
    ['core group', { scaleTargetRef: { apiVersion: 'v1', kind: 'ReplicationController', name: 'x' } }],
    ['metric', metric({ averageValue: '10' })],
    [
      'metric type',
      { metrics: [{ type: 'X' }] },
      'spec.metrics[0].type: Unsupported value: "X": supported values: "ContainerResource", "External", "Object", "Pods", "Resource"',
    ],
    [
      'metric without source',
      { metrics: [{ type: 'Pods' }] },
      'spec.metrics[0].pods: Required value: must populate information for the given metric source',
    ],
    [
      'metric with two sources',
      metric({ averageValue: '1' }, { resource: cpu.resource }),
      'spec.metrics[0].resource: Forbidden: must populate the given metric source only',
    ],
    [
      'no target value',
      metric({}),
      'spec.metrics[0].pods.target.averageValue: Required value: must specify a positive target averageValue',
    ],
    [
      'negative',
      metric({ averageValue: '-1' }),
      'spec.metrics[0].pods.target.averageValue: Invalid value: "-1": must be positive',
    ],
    [
      'target type',
      metric({ averageValue: '1', type: 'X' }),
      'spec.metrics[0].pods.target.type: Invalid value: "X": must be either Utilization, Value, or AverageValue',
    ],
    [
      'both targets',
      {
        metrics: [
          {
            type: 'Resource',
            resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 1, averageValue: '1' } },
          },
        ],
      },
      'spec.metrics[0].resource.target.averageValue: Forbidden: may not set both a target raw value and a target utilization',
    ],
    [
      'no container',
      { metrics: [{ type: 'ContainerResource', containerResource: { name: 'cpu', target: cpu.resource.target } }] },
      'spec.metrics[0].containerResource.container: Required value: must specify a container',
    ],
    [
      'no policies',
      { behavior: { scaleUp: { policies: [] } } },
      'spec.behavior.scaleUp.policies: Required value: must specify at least one Policy',
    ],
    [
      'window',
      { behavior: { scaleUp: { stabilizationWindowSeconds: 3601 } } },
      'spec.behavior.scaleUp.stabilizationWindowSeconds: Invalid value: 3601: must be less than or equal to 3600',
    ],
    [
      'policy',
      { behavior: { scaleDown: { selectPolicy: 'X', policies: [{ type: 'Y', value: 0, periodSeconds: 1801 }] } } },
      'spec.behavior.scaleDown.selectPolicy: Unsupported value: "X": supported values: "Disabled", "Max", "Min"',
      'spec.behavior.scaleDown.policies[0].type: Unsupported value: "Y": supported values: "Percent", "Pods"',
      'spec.behavior.scaleDown.policies[0].value: Invalid value: 0: must be greater than zero',
      'spec.behavior.scaleDown.policies[0].periodSeconds: Invalid value: 1801: must be less than or equal to 1800',
    ],
  ])('%s', (_what, spec, ...errors) => {
    expect(texts(kind.validate?.(created(kind, { ...base, ...spec })))).toEqual(errors)
  })
})

describe('columns', () => {
  const pods: MetricSpec = {
    type: 'Pods',
    pods: { metric: { name: 'qps' }, target: { type: 'AverageValue', averageValue: '10' } },
  }
  const external: MetricSpec = {
    type: 'External',
    external: { metric: { name: 'q' }, target: { type: 'Value', value: '5' } },
  }
  test.each<[targets: string, metrics: MetricSpec[], status: object]>([
    ['cpu: <unknown>/80%', [cpu], {}],
    [
      'cpu: 42%/80%',
      [cpu],
      { currentMetrics: [{ type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: 42 } } }] },
    ],
    ['cpu: <unknown>/80%, <unknown>/10', [cpu, pods], {}],
    ['cpu: <unknown>/80%, <unknown>/10 + 1 more...', [cpu, pods, external], {}],
    [
      '3/5',
      [external],
      { currentMetrics: [{ type: 'External', external: { metric: { name: 'q' }, current: { value: '3' } } }] },
    ],
  ])('%s', (targets, metrics, status) => {
    const object = { ...created(kind, { ...base, metrics }), status } as HorizontalPodAutoscaler
    expect(cells(kind, object, 0)).toEqual(['web', 'Deployment/web', targets, '1', 3, 0, '<unknown>'])
  })
})

describe('version 1', () => {
  const toV1 = (stored: HorizontalPodAutoscaler): V1 => {
    const draft = structuredClone(stored)
    conversion.fromStorage(draft)
    return draft as V1
  }
  const toV2 = (object: V1): HorizontalPodAutoscaler => {
    const draft = structuredClone(object)
    v1Kind.defaults?.(draft)
    conversion.toStorage(draft)
    kind.defaults?.(draft as unknown as HorizontalPodAutoscaler)
    return draft as unknown as HorizontalPodAutoscaler
  }

  test('a percentage of the CPU', () => {
    const stored = toV2({ metadata: { name: 'a' }, spec: { ...base, targetCPUUtilizationPercentage: 50 } })
    expect(stored.spec.metrics).toEqual([
      { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } } },
    ])
    expect(toV1(stored).spec).toEqual({ ...base, minReplicas: 1, targetCPUUtilizationPercentage: 50 })
  })

  test('no metric is the default one', () => {
    expect(toV2({ metadata: {}, spec: base }).spec.metrics).toEqual([cpu])
  })

  const metrics: MetricSpec[] = [
    {
      type: 'Object',
      object: {
        describedObject: { kind: 'Ingress', name: 'i', apiVersion: 'networking.k8s.io/v1' },
        metric: { name: 'rps', selector: { matchLabels: { a: 'b' } } },
        target: { type: 'Value', value: '10' },
      },
    },
    { type: 'Pods', pods: { metric: { name: 'qps' }, target: { type: 'AverageValue', averageValue: '5' } } },
    { type: 'External', external: { metric: { name: 'queue' }, target: { type: 'AverageValue', averageValue: '3' } } },
    { type: 'Resource', resource: { name: 'memory', target: { type: 'AverageValue', averageValue: '1Gi' } } },
    {
      type: 'ContainerResource',
      containerResource: { name: 'cpu', container: 'app', target: { type: 'Utilization', averageUtilization: 60 } },
    },
    cpu,
  ]

  test('nothing is lost on the way there and back', () => {
    const stored: HorizontalPodAutoscaler = {
      metadata: { name: 'a', annotations: { mine: 'yes' } },
      spec: { ...base, minReplicas: 1, metrics, behavior: created(kind, { ...base, behavior: {} }).spec.behavior },
      status: {
        currentReplicas: 1,
        desiredReplicas: 2,
        currentMetrics: [
          { type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: 7, averageValue: '70m' } } },
        ],
        conditions: [{ type: 'AbleToScale', status: 'True' }],
      },
    }
    const shown = toV1(stored)
    expect(shown.spec.targetCPUUtilizationPercentage).toBe(80)
    expect(shown.status).toEqual({ currentReplicas: 1, desiredReplicas: 2, currentCPUUtilizationPercentage: 7 })
    expect(Object.keys(shown.metadata.annotations!)).toEqual([
      'mine',
      'autoscaling.alpha.kubernetes.io/metrics',
      'autoscaling.alpha.kubernetes.io/behavior',
      'autoscaling.alpha.kubernetes.io/current-metrics',
      'autoscaling.alpha.kubernetes.io/conditions',
    ])
    expect(toV2(shown)).toEqual(stored)
  })

  test.each(['x', '[1]', '{}', 'null', '[null]', '"a"'])('annotations may hold anything: %s', (text) => {
    const annotations = Object.fromEntries(
      ['metrics', 'behavior', 'current-metrics', 'conditions'].map((name) => [
        `autoscaling.alpha.kubernetes.io/${name}`,
        text,
      ]),
    )
    expect(toV2({ metadata: { annotations }, spec: base }).spec.metrics).toEqual([cpu])
  })

  test('a table shows the same cells', () => {
    const stored = created(kind, { ...base, metrics })
    expect(cells(v1Kind, toV1(stored), 0)).toEqual(cells(kind, { ...stored, spec: { ...stored.spec, metrics } }, 0))
  })
})
