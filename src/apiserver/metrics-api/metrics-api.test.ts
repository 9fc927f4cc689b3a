import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../base/clock.ts'
import { silentLogger } from '../../base/log.ts'
import { seededRandom } from '../../base/random.ts'
import type { MetricsSource, NodeMetrics, PodMetrics } from '../../client/metrics-source.ts'
import type { ResourceType, Transport } from '../../client/transport.ts'
import { openMemoryStore } from '../../store/embedded.ts'
import { type ApiServer, type ApiServerOptions, startApiServer } from '../server.ts'
import { nodeMetricsKind, podMetricsKind } from './kinds.ts'

const MEASURED = { timestamp: '2026-01-01T00:00:00Z', window: '15s' }
const ADMIN = { name: 'admin', groups: ['system:masters'] }

const nodeMetrics = (name: string, labels: Record<string, string>): NodeMetrics => ({
  metadata: { name, labels },
  ...MEASURED,
  usage: { cpu: '250m', memory: '64Mi' },
})
const podMetrics = (namespace: string, name: string, labels: Record<string, string>): PodMetrics => ({
  metadata: { namespace, name, labels },
  ...MEASURED,
  containers: [
    { name: 'app', usage: { cpu: '250m', memory: '64Mi' } },
    { name: 'side', usage: { cpu: '750m', memory: '64Mi' } },
  ],
})

const NODES = [nodeMetrics('b', { zone: 'one' }), nodeMetrics('a', { zone: 'two' })]
const PODS = [
  podMetrics('shop', 'web-2', { app: 'web' }),
  podMetrics('shop', 'web-1', { app: 'web' }),
  podMetrics('shop', 'db', { app: 'db' }),
  podMetrics('default', 'web', { app: 'web' }),
]
const source: MetricsSource = {
  node: (name) => NODES.find(({ metadata }) => metadata.name === name),
  nodes: () => NODES,
  pod: async (namespace, name) =>
    PODS.find(({ metadata }) => metadata.namespace === namespace && metadata.name === name),
  pods: async (namespace) => PODS.filter(({ metadata }) => !namespace || metadata.namespace === namespace),
}

const start = async (more: Partial<ApiServerOptions>) =>
  startApiServer({
    store: await openMemoryStore(),
    clock: systemClock,
    random: seededRandom(1),
    log: silentLogger,
    serviceCidrs: ['10.96.0.0/16'],
    ...more,
  })

describe('metrics.k8s.io', () => {
  let server: ApiServer
  let transport: Transport
  beforeAll(async () => {
    server = await start({ metricsSource: source })
    transport = server.transport(ADMIN)
  })
  afterAll(() => server[Symbol.asyncDispose]())

  const names = async (resource: ResourceType, namespace: string | undefined, query: Record<string, string>) => {
    const { items } = await transport.call({ verb: 'list', resource, ...(namespace && { namespace }), query })
    return (items ?? []).map(({ metadata }) => metadata.name)
  }

  it('tells of one node or pod', async () => {
    expect(await transport.call({ verb: 'get', resource: nodeMetricsKind, name: 'a' })).toEqual({
      kind: 'NodeMetrics',
      apiVersion: 'metrics.k8s.io/v1beta1',
      ...NODES[1],
    })
    expect(await transport.call({ verb: 'get', resource: podMetricsKind, namespace: 'shop', name: 'db' })).toEqual({
      kind: 'PodMetrics',
      apiVersion: 'metrics.k8s.io/v1beta1',
      ...PODS[2],
    })
  })

  it.each([
    [nodeMetricsKind, undefined, {}, ['a', 'b']],
    [nodeMetricsKind, undefined, { labelSelector: 'zone=one' }, ['b']],
    [podMetricsKind, undefined, {}, ['web', 'db', 'web-1', 'web-2']],
    [podMetricsKind, 'shop', {}, ['db', 'web-1', 'web-2']],
    [podMetricsKind, 'shop', { labelSelector: 'app!=web' }, ['db']],
    [podMetricsKind, 'shop', { fieldSelector: 'metadata.name=web-1' }, ['web-1']],
    [podMetricsKind, undefined, { fieldSelector: 'metadata.namespace!=shop' }, ['web']],
    [podMetricsKind, 'nowhere', {}, []],
  ] as const)('lists %#', async (resource, namespace, query, expected) => {
    expect(await names(resource, namespace, query)).toEqual(expected)
  })

  it.each([
    ['get', podMetricsKind, 'shop', 'gone', {}, 404, 'podmetrics.metrics.k8s.io "shop/gone" not found'],
    ['get', nodeMetricsKind, undefined, 'gone', {}, 404, 'nodemetrics.metrics.k8s.io "gone" not found'],
    ['list', podMetricsKind, 'shop', undefined, { fieldSelector: 'status.phase=Running' }, 400, 'status.phase'],
    ['list', podMetricsKind, 'shop', undefined, { labelSelector: 'a in' }, 400, 'unable to parse'],
    ['delete', podMetricsKind, 'shop', 'db', {}, 405, 'delete is not supported'],
  ] as const)('refuses %s %#', async (verb, resource, namespace, name, query, code, message) => {
    const call = transport.call({ verb, resource, ...(namespace && { namespace }), ...(name && { name }), query })
    await expect(call).rejects.toMatchObject({ code, message: expect.stringContaining(message) })
  })

  it('prints sums', () => {
    const cells = podMetricsKind.columns.map(({ value }) =>
      value({ ...PODS[2]!, kind: 'PodMetrics', apiVersion: 'metrics.k8s.io/v1beta1' }, 0),
    )
    expect(cells).toEqual(['db', '1', '128Mi', '15s'])
  })
})

it('is not there without a source', async () => {
  const server = await start({})
  const call = server.transport(ADMIN).call({ verb: 'list', resource: nodeMetricsKind })
  await expect(call).rejects.toMatchObject({ code: 404 })
  await server[Symbol.asyncDispose]()
})
