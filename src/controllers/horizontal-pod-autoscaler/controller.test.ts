import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type {
  HorizontalPodAutoscaler,
  HorizontalPodAutoscalerSpec,
  MetricSpec,
} from '../../api/generated/autoscaling-v2.ts'
import { deploymentKind } from '../../api/kinds/apps/deployment/kind.ts'
import { horizontalPodAutoscalerKind } from '../../api/kinds/autoscaling/horizontal-pod-autoscaler/kind.ts'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import { formatTime } from '../../api/meta/time.ts'
import { VirtualClock } from '../../base/virtual-clock.ts'
import { createClient } from '../../client/client.ts'
import type { ApiAnswer, ApiCall, Transport } from '../../client/transport.ts'
import { type ControlPlane, startControlPlane } from '../../testing/control-plane.ts'
import { horizontalPodAutoscalerController } from './controller.ts'

/** Serves the metrics APIs before the real server. */
class Metrics {
  /** Millicores of each pod by name. */
  cpu: Record<string, number> = {}
  custom: Record<string, string> = {}

  over(transport: Transport): Transport {
    return {
      call: async (call) => this.#answer(call) ?? (await transport.call(call)),
      watch: (call) => transport.watch(call),
      [Symbol.asyncDispose]: () => transport[Symbol.asyncDispose](),
    }
  }

  #answer({ resource, name, subresource }: ApiCall): ApiAnswer | undefined {
    const timestamp = formatTime(Date.UTC(2026, 0, 2))
    if (resource.group === 'metrics.k8s.io')
      return list(
        Object.entries(this.cpu).map(([pod, cpu]) => ({
          metadata: { name: pod },
          timestamp,
          window: '30s',
          containers: [{ name: 'main', usage: { cpu: `${cpu}m`, memory: '64Mi' } }],
        })),
      )
    if (resource.group === 'custom.metrics.k8s.io')
      return list(
        Object.entries(this.custom)
          .filter(([key]) => key.endsWith(`/${subresource}`) && (name === '*' || key.startsWith(`${name}/`)))
          .map(([key, value]) => ({ describedObject: { name: key.split('/')[0] }, timestamp, value })),
      )
    if (resource.group === 'external.metrics.k8s.io')
      return list(Object.entries(this.custom).flatMap(([key, value]) => (key === resource.plural ? [{ value }] : [])))
    return undefined
  }
}
const list = (items: unknown[]) => ({ metadata: {}, items }) as unknown as ApiAnswer

let plane: ControlPlane
let clock: VirtualClock
let metrics: Metrics
beforeEach(async () => {
  clock = new VirtualClock(Date.UTC(2026, 0, 2))
  metrics = new Metrics()
  plane = await startControlPlane({
    clock,
    controllers: [
      (context) =>
        horizontalPodAutoscalerController({ ...context, client: createClient(metrics.over(context.client.transport)) }),
    ],
  })
})
afterEach(async () => plane[Symbol.asyncDispose]())

const deployments = () => plane.client.resource(deploymentKind).namespace('default')
const autoscalers = () => plane.client.resource(horizontalPodAutoscalerKind).namespace('default')

/** A Deployment with pods that asked for 100m each and have run for a day. */
async function target(replicas: number, usage?: number): Promise<void> {
  const labels = { app: 'web' }
  const container = { name: 'main', image: 'web', resources: { requests: { cpu: '100m' } } }
  await deployments().create({
    metadata: { name: 'web' },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [container] } },
    },
  })
  await deployments().patch('web', { status: { replicas } }, { subresource: 'status' })
  for (let i = 0; i < replicas; i++) await pod(`p${i}`, usage)
}
async function pod(name: string, usage?: number): Promise<void> {
  const container = { name: 'main', image: 'web', resources: { requests: { cpu: '100m' } } }
  const pods = plane.client.resource(podKind).namespace('default')
  await pods.create({ metadata: { name, labels: { app: 'web' } }, spec: { containers: [container] } })
  const since = formatTime(Date.UTC(2026, 0, 1))
  const conditions = [{ type: 'Ready', status: 'True', lastTransitionTime: since }]
  await pods.patch(name, { status: { phase: 'Running', startTime: since, conditions } }, { subresource: 'status' })
  if (usage !== undefined) metrics.cpu[name] = usage
}
const CPU: MetricSpec = {
  type: 'Resource',
  resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } },
}
function autoscale(spec: Partial<HorizontalPodAutoscalerSpec> = {}, name = 'web'): Promise<HorizontalPodAutoscaler> {
  const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' }
  return autoscalers().create({
    metadata: { name },
    spec: { scaleTargetRef, minReplicas: 1, maxReplicas: 10, metrics: [CPU], ...spec },
  })
}
async function replicas(): Promise<number | undefined> {
  await plane.settled()
  return (await deployments().get('web')).spec?.replicas
}
async function status() {
  await plane.settled()
  return (await autoscalers().get('web')).status
}
async function condition(type: string): Promise<string> {
  const found = (await status())?.conditions?.find((one) => one.type === type)
  return `${found?.status} ${found?.reason}`
}
async function pass(seconds: number): Promise<void> {
  await plane.settled()
  await clock.advanceAsync(seconds * 1000)
  await plane.settled()
}
const setUsage = (usage: number) => {
  for (const name of Object.keys(metrics.cpu)) metrics.cpu[name] = usage
}

describe('by CPU', () => {
  it('scales up in proportion to what is used', async () => {
    await target(2, 100)
    await autoscale()
    expect(await replicas()).toBe(4)
    expect(await status()).toMatchObject({
      currentReplicas: 2,
      desiredReplicas: 4,
      lastScaleTime: formatTime(clock.now()),
      currentMetrics: [
        { type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: 100, averageValue: '100m' } } },
      ],
    })
    expect(await condition('AbleToScale')).toBe('True SucceededRescale')
    expect(await condition('ScalingActive')).toBe('True ValidMetricFound')
    expect(await condition('ScalingLimited')).toBe('False DesiredWithinRange')
    expect(plane.events).toEqual([
      'SuccessfulRescale: New size: 4; reason: cpu resource utilization (percentage of request) above target',
    ])
  })

  it.each<[string, number, Partial<HorizontalPodAutoscalerSpec>, number, string]>([
    ['within the tolerance', 54, {}, 2, 'False DesiredWithinRange'],
    ['its own tolerance', 54, { behavior: { scaleUp: { tolerance: '0.01' } } }, 3, 'False DesiredWithinRange'],
    ['not beyond the maximum', 100, { maxReplicas: 3 }, 3, 'True TooManyReplicas'],
    ['at most doubled, or four', 500, { maxReplicas: 100 }, 4, 'True ScaleUpLimit'],
  ])('%s', async (_, usage, spec, expected, limited) => {
    await target(2, usage)
    await autoscale(spec)
    expect(await replicas()).toBe(expected)
    expect(await condition('ScalingLimited')).toBe(limited)
  })

  it('scales down when five minutes have passed, not below the minimum', async () => {
    await target(4, 10)
    await autoscale({ minReplicas: 2 })
    expect(await replicas()).toBe(4)
    expect(await condition('AbleToScale')).toBe('True ScaleDownStabilized')
    await pass(299)
    expect(await replicas()).toBe(4)
    await pass(16)
    expect(await replicas()).toBe(2)
    expect(plane.events.at(-1)).toBe('SuccessfulRescale: New size: 2; reason: All metrics below target')
  })

  it('pods without metrics argue for less change', async () => {
    await target(2, 100)
    await pod('silent')
    await deployments().patch('web', { spec: { replicas: 3 } })
    await autoscale()
    // 100 % of two pods and nothing of the third: 66 % of three pods, where 50 % is the target.
    expect(await replicas()).toBe(4)
  })

  it('without any metrics says so and does nothing', async () => {
    await target(2)
    await autoscale()
    expect(await replicas()).toBe(2)
    expect(await condition('ScalingActive')).toBe('False FailedGetResourceMetric')
    expect(plane.events).toEqual([
      'FailedGetResourceMetric: failed to get cpu utilization: unable to get metrics for resource cpu: no metrics returned from resource metrics API',
      'FailedComputeMetricsReplicas: invalid metrics (1 invalid out of 1), first error is: failed to get cpu resource metric value: failed to get cpu utilization: unable to get metrics for resource cpu: no metrics returned from resource metrics API',
    ])
  })
})

describe('limits hold without metrics', () => {
  it.each<[string, number, string]>([
    ['above', 5, 'New size: 3; reason: Current number of replicas above Spec.MaxReplicas'],
    ['below', 1, 'New size: 2; reason: Current number of replicas below Spec.MinReplicas'],
  ])('%s', async (_, count, event) => {
    await target(count)
    await autoscale({ minReplicas: 2, maxReplicas: 3 })
    await plane.settled()
    expect(plane.events).toEqual([`SuccessfulRescale: ${event}`])
  })

  it('a target of zero is left alone', async () => {
    await target(0)
    await autoscale()
    expect([await replicas(), await condition('ScalingActive')]).toEqual([0, 'False ScalingDisabled'])
  })
})

describe('behaviour', () => {
  it('adds at most so many pods in a period', async () => {
    await target(2, 500)
    const policies = [{ type: 'Pods', value: 1, periodSeconds: 60 }]
    await autoscale({ behavior: { scaleUp: { policies } } })
    expect([await replicas(), await condition('ScalingLimited')]).toEqual([3, 'True ScaleUpLimit'])
    await pass(45)
    expect(await replicas()).toBe(3)
    await pass(30)
    expect(await replicas()).toBe(4)
  })

  it('removes at most so many percent in a period, after its own window', async () => {
    await target(10, 5)
    const policies = [{ type: 'Percent', value: 10, periodSeconds: 60 }]
    await autoscale({ behavior: { scaleDown: { stabilizationWindowSeconds: 0, policies } } })
    expect([await replicas(), await condition('ScalingLimited')]).toEqual([9, 'True ScaleDownLimit'])
  })

  it('a window before scaling up takes the lowest recommendation', async () => {
    await target(2, 50)
    await autoscale({ behavior: { scaleUp: { stabilizationWindowSeconds: 60 } } })
    await plane.settled()
    setUsage(100)
    await pass(15)
    expect([await replicas(), await condition('AbleToScale')]).toEqual([2, 'True ScaleUpStabilized'])
    await pass(60)
    expect(await replicas()).toBe(4)
  })

  it('Disabled never scales down', async () => {
    await target(4, 5)
    await autoscale({ behavior: { scaleDown: { selectPolicy: 'Disabled', stabilizationWindowSeconds: 0 } } })
    await pass(60)
    expect(await replicas()).toBe(4)
  })
})

describe('other metrics', () => {
  const pods: MetricSpec = {
    type: 'Pods',
    pods: { metric: { name: 'requests' }, target: { type: 'AverageValue', averageValue: '10' } },
  }
  const describedObject = { apiVersion: 'v1', kind: 'Service', name: 'front' }
  const object: MetricSpec = {
    type: 'Object',
    object: { describedObject, metric: { name: 'requests' }, target: { type: 'Value', value: '100' } },
  }
  const external: MetricSpec = {
    type: 'External',
    external: { metric: { name: 'queue' }, target: { type: 'AverageValue', averageValue: '30' } },
  }
  const container: MetricSpec = {
    type: 'ContainerResource',
    containerResource: { name: 'cpu', container: 'main', target: { type: 'AverageValue', averageValue: '50m' } },
  }

  it.each<[string, MetricSpec, number, object]>([
    ['pods', pods, 3, { pods: { current: { averageValue: '15' } } }],
    ['object', object, 3, { object: { current: { value: '150' } } }],
    ['external', external, 4, { external: { current: { averageValue: '60' } } }],
    ['container', container, 4, { containerResource: { container: 'main', current: { averageValue: '100m' } } }],
  ])('%s', async (_, metric, expected, current) => {
    await target(2, 100)
    metrics.custom = { 'p0/requests': '20', 'p1/requests': '10', 'front/requests': '150', queue: '120' }
    if (metric === pods) delete metrics.custom['front/requests']
    await autoscale({ metrics: [metric] })
    expect(await replicas()).toBe(expected)
    expect((await status())?.currentMetrics).toMatchObject([current])
  })

  it('of several the highest counts, and one that fails keeps it from going down', async () => {
    await target(2, 100)
    await autoscale({ metrics: [CPU, external] })
    expect(await replicas()).toBe(4)
    setUsage(1)
    await pass(600)
    expect(await replicas()).toBe(4)
    expect(await condition('ScalingActive')).toBe('False FailedGetExternalMetric')
  })
})

describe('targets', () => {
  it.each<[string, object, string]>([
    ['unknown kind', { kind: 'Zeppelin' }, 'FailedGetScale: no matches for kind "Zeppelin" in group "apps"'],
    ['missing', { name: 'gone' }, 'FailedGetScale: deployments.apps "gone" not found'],
  ])('%s', async (_, reference, event) => {
    await target(1)
    const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', ...reference }
    await autoscale({ scaleTargetRef })
    expect(await condition('AbleToScale')).toBe('False FailedGetScale')
    expect(plane.events).toEqual([event])
  })

  it('two autoscalers of the same pods do nothing', async () => {
    await target(2, 100)
    await autoscale({ maxReplicas: 2 }, 'other')
    await plane.settled()
    await autoscale()
    expect(await condition('ScalingActive')).toBe('False AmbiguousSelector')
    expect(await replicas()).toBe(2)
  })
})
