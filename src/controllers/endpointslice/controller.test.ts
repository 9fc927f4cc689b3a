import { afterEach, describe, expect, it } from 'vitest'
import type { EndpointSlice } from '../../api/generated/discovery-v1.ts'
import { nodeKind } from '../../api/kinds/core/node/kind.ts'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import { serviceKind } from '../../api/kinds/core/service/kind.ts'
import { endpointSliceKind } from '../../api/kinds/discovery/endpoint-slice.ts'
import { systemClock } from '../../base/clock.ts'
import { silentLogger } from '../../base/log.ts'
import { seededRandom } from '../../base/random.ts'
import { VirtualClock } from '../../base/virtual-clock.ts'
import { createInformerFactory } from '../../client/informer-factory.ts'
import { type ControlPlane, startControlPlane } from '../../testing/control-plane.ts'
import { runControllers } from '../runner.ts'
import { type EndpointSliceOptions, endpointSliceController } from './controller.ts'
import { Objects, type PodFields } from './endpoints.fixture.ts'

let plane: ControlPlane
let objects: Objects
afterEach(async () => plane[Symbol.asyncDispose]())

async function start(options: EndpointSliceOptions = {}, clock?: VirtualClock): Promise<void> {
  plane = await startControlPlane({
    controllers: [(context) => endpointSliceController(context, options)],
    ...(clock && { clock }),
  })
  objects = new Objects(plane.client)
  await objects.node('n', 'zone-a')
}
const slicesClient = () => plane.client.resource(endpointSliceKind).namespace('default')
async function slices(service = 'web'): Promise<EndpointSlice[]> {
  await plane.settled()
  const { items } = await slicesClient().list({ labelSelector: `kubernetes.io/service-name=${service}` })
  return items
}
const only = async (service?: string): Promise<EndpointSlice> => {
  const all = await slices(service)
  expect(all).toHaveLength(1)
  return all[0]!
}
const addresses = (slice: EndpointSlice) => (slice.endpoints ?? []).flatMap((endpoint) => endpoint.addresses)

describe('which Services', () => {
  it.each<[string, object, number]>([
    ['with a selector', {}, 1],
    ['without a selector', { selector: null }, 0],
    ['ExternalName', { type: 'ExternalName', externalName: 'example.com', ports: null }, 0],
  ])('%s', async (_, spec, count) => {
    await start()
    await objects.service('web', spec as never)
    await objects.pod('a')
    expect(await slices()).toHaveLength(count)
  })
})

it('makes a slice that is the Service’s own', async () => {
  await start()
  const service = await objects.service('web', { clusterIP: 'None' }, {
    labels: { team: 'red', 'kubernetes.io/service-name': 'lie', 'service.kubernetes.io/headless': 'lie' },
  } as never)
  await objects.pod('a', { ips: ['10.1.2.3'] })
  const slice = await only()
  expect(slice.metadata.labels).toEqual({
    team: 'red',
    'kubernetes.io/service-name': 'web',
    'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
    'service.kubernetes.io/headless': '',
  })
  expect(slice.metadata.generateName).toBe('web-')
  expect(slice.metadata.ownerReferences).toEqual([
    {
      apiVersion: 'v1',
      kind: 'Service',
      name: 'web',
      uid: service.metadata.uid,
      controller: true,
      blockOwnerDeletion: true,
    },
  ])
  expect(slice.addressType).toBe('IPv4')
  expect(slice.ports).toEqual([{ name: '', port: 8080, protocol: 'TCP' }])
  expect(slice.endpoints).toMatchObject([
    {
      addresses: ['10.1.2.3'],
      conditions: { ready: true, serving: true, terminating: false },
      nodeName: 'n',
      zone: 'zone-a',
      targetRef: { kind: 'Pod', namespace: 'default', name: 'a' },
    },
  ])
})

describe('conditions of an endpoint', () => {
  const NOT_READY = { ready: false }
  it.each<[string, PodFields, boolean, boolean, object | undefined]>([
    ['ready', {}, false, false, { ready: true, serving: true, terminating: false }],
    ['not ready', NOT_READY, false, false, { ready: false, serving: false, terminating: false }],
    ['terminating', {}, true, false, { ready: false, serving: true, terminating: true }],
    ['not ready, published', NOT_READY, false, true, { ready: true, serving: false, terminating: false }],
    ['terminating, published', {}, true, true, { ready: true, serving: true, terminating: true }],
    ['succeeded', { phase: 'Succeeded' }, false, false, undefined],
    ['failed', { phase: 'Failed' }, false, true, undefined],
    ['no address', { ips: [] }, false, true, undefined],
    ['other family', { ips: ['fd00::1'] }, false, false, undefined],
    ['other labels', { labels: { app: 'db' } }, false, false, undefined],
  ])('%s', async (_, fields, isDeleted, publishNotReadyAddresses, expected) => {
    await start()
    await objects.service('web', { publishNotReadyAddresses })
    await objects.pod('a', { ...fields, finalizers: ['example.com/wait'] })
    if (isDeleted) await objects.deletePod('a', 30)
    expect((await only()).endpoints?.map(({ conditions }) => conditions) ?? []).toEqual(expected ? [expected] : [])
  })
})

it('gives a hostname only to pods of the Service’s own subdomain', async () => {
  await start()
  await objects.service('web')
  await objects.pod('a', { spec: { hostname: 'a-0', subdomain: 'web' } })
  await objects.pod('b', { spec: { hostname: 'b-0', subdomain: 'db' } })
  await objects.pod('c', { spec: { subdomain: 'web' } })
  const hostnames = (await only()).endpoints?.map(({ hostname }) => hostname)
  expect(hostnames).toEqual(['a-0', undefined, undefined])
})

describe('ports', () => {
  const container = (name: string, containerPort: number, protocol = 'TCP') => ({
    name: `c${containerPort}`,
    image: 'web',
    ports: [{ name, containerPort, protocol }],
  })

  it('resolves named ports for each pod: other numbers, other slices', async () => {
    await start()
    await objects.service('web', { ports: [{ name: 'http', port: 80, targetPort: 'http' }] })
    await objects.pod('a', { spec: { containers: [container('http', 8080)] } })
    await objects.pod('b', { spec: { containers: [container('http', 9090)] } })
    await objects.pod('c', {
      spec: {
        containers: [container('other', 1)],
        initContainers: [{ ...container('http', 7070), restartPolicy: 'Always' }],
      },
    })
    await objects.pod('d', { spec: { containers: [container('http', 53, 'UDP')] } })
    const ports = (await slices()).map((slice) => slice.ports?.[0]?.port)
    expect(new Set(ports)).toEqual(new Set([8080, 9090, 7070, undefined]))
  })

  it('a headless Service without ports lists addresses', async () => {
    await start()
    await objects.service('web', { clusterIP: 'None', ports: [] })
    await objects.pod('a', { ips: ['10.1.1.1'] })
    const slice = await only()
    expect(slice.ports ?? []).toEqual([])
    expect(addresses(slice)).toEqual(['10.1.1.1'])
  })

  it('moves endpoints to slices of the new ports, recycling the old slice', async () => {
    await start()
    await objects.service('web')
    await objects.pod('a')
    const before = await only()
    await objects.patchService('web', { spec: { ports: [{ port: 80, targetPort: 9999, protocol: 'TCP' }] } })
    const after = await only()
    expect(after.ports?.[0]?.port).toBe(9999)
    expect(after.metadata.uid).toBe(before.metadata.uid)
  })
})

describe('slices', () => {
  it('an empty Service has a placeholder, which becomes the first slice', async () => {
    await start()
    await objects.service('web')
    const placeholder = await only()
    expect(placeholder.endpoints ?? []).toEqual([])
    expect(placeholder.ports ?? []).toEqual([])
    await objects.pod('a')
    const first = await only()
    expect(first.metadata.uid).toBe(placeholder.metadata.uid)
    await objects.deletePod('a')
    expect((await only()).endpoints ?? []).toEqual([])
  })

  it('are filled before new ones are made, and one pod’s change writes one slice', async () => {
    await start({ maxEndpointsPerSlice: 3 })
    for (let i = 0; i < 7; i++) await objects.pod(`p${i}`)
    await objects.service('web')
    const sizes = async () => (await slices()).map((slice) => slice.endpoints?.length ?? 0).sort()
    expect(await sizes()).toEqual([1, 3, 3])
    await objects.pod('p7')
    expect(await sizes()).toEqual([2, 3, 3])
    const versions = async () => new Map((await slices()).map((s) => [s.metadata.name, s.metadata.resourceVersion]))
    const before = await versions()
    await objects.podStatus('p1', { ready: false })
    const after = await versions()
    expect([...after].filter(([name, version]) => before.get(name) !== version)).toHaveLength(1)
    for (let i = 0; i < 6; i++) await objects.deletePod(`p${i}`)
    expect((await sizes()).reduce((sum, size) => sum + size)).toBe(2)
  })

  it('follow selector and labels of the Service', async () => {
    await start()
    await objects.service('web')
    await objects.pod('a')
    await objects.pod('b', { labels: { app: 'db' }, ips: ['10.9.9.9'] })
    await objects.patchService('web', { metadata: { labels: { team: 'blue' } }, spec: { selector: { app: 'db' } } })
    const slice = await only()
    expect(addresses(slice)).toEqual(['10.9.9.9'])
    expect(slice.metadata.labels?.team).toBe('blue')
  })

  it('a pod that changes its labels leaves and comes back', async () => {
    await start()
    await objects.service('web')
    await objects.pod('a', { ips: ['10.1.1.1'] })
    const pods = plane.client.resource(podKind).namespace('default')
    await pods.patch('a', { metadata: { labels: { app: 'x' } } })
    expect(addresses(await only())).toEqual([])
    await pods.patch('a', { metadata: { labels: { app: 'web' } } })
    expect(addresses(await only())).toEqual(['10.1.1.1'])
  })

  it('that others delete or change are made anew', async () => {
    await start()
    await objects.service('web')
    await objects.pod('a', { ips: ['10.1.1.1'] })
    const { name = '' } = (await only()).metadata
    await slicesClient().delete(name)
    const again = await only()
    expect(addresses(again)).toEqual(['10.1.1.1'])
    await slicesClient().patch(again.metadata.name!, { endpoints: [{ addresses: ['10.6.6.6'] }] })
    expect(addresses(await only())).toEqual(['10.1.1.1'])
  })

  it('of a namesake before are deleted, not used', async () => {
    await start()
    await objects.service('web')
    const before = await only()
    await plane.client.resource(serviceKind).namespace('default').delete('web')
    await plane.settled()
    const service = await objects.service('web')
    const after = await only()
    expect(after.metadata.uid).not.toBe(before.metadata.uid)
    expect(after.metadata.ownerReferences?.[0]?.uid).toBe(service.metadata.uid)
  })

  it('a pod recreated under its name is another pod', async () => {
    await start()
    await objects.service('web')
    await objects.pod('a', { ips: ['10.1.1.1'] })
    await objects.deletePod('a')
    await objects.pod('a', { ips: ['10.1.1.2'] })
    expect(addresses(await only())).toEqual(['10.1.1.2'])
  })
})

describe('nodes', () => {
  it('a pod whose node is missing is left out until it appears, unless published always', async () => {
    await start()
    await objects.service('web')
    await objects.service('always', { selector: { app: 'web' }, publishNotReadyAddresses: true })
    await objects.pod('a', { nodeName: 'm', ips: ['10.1.1.1'] })
    expect(addresses(await only())).toEqual([])
    expect(addresses(await only('always'))).toEqual(['10.1.1.1'])
    await objects.node('m', 'zone-b')
    expect((await only()).endpoints?.[0]?.zone).toBe('zone-b')
    await plane.client.resource(nodeKind).patch('m', { metadata: { labels: { 'topology.kubernetes.io/zone': 'c' } } })
    expect((await only()).endpoints?.[0]?.zone).toBe('c')
    await plane.client.resource(nodeKind).delete('m')
    expect(addresses(await only())).toEqual([])
  })
})

describe('time', () => {
  const TRIGGER = 'endpoints.kubernetes.io/last-change-trigger-time'
  const triggerOf = async () => (await only()).metadata.annotations?.[TRIGGER]

  it('tells the time of the change that caused a write', async () => {
    await start()
    await objects.pod('a', { readySince: '2026-01-02T00:00:00Z' })
    const service = await objects.service('web')
    expect(await triggerOf()).toBe([service.metadata.creationTimestamp!, '2026-01-02T00:00:00Z'].sort()[0])
    await objects.podStatus('a', { ready: false, readySince: '2026-01-03T00:00:00Z' })
    expect(await triggerOf()).toBe('2026-01-03T00:00:00Z')
    await objects.deletePod('a')
    expect(await triggerOf()).toBe(undefined)
  })

  it('gathers changes of pods for the batch period', async () => {
    const clock = new VirtualClock()
    await start({ updatesBatchPeriod: 1000 }, clock)
    await objects.service('web')
    const { generation } = (await only()).metadata
    for (let i = 0; i < 5; i++) await objects.pod(`p${i}`)
    expect((await only()).metadata.generation).toBe(generation)
    await clock.advanceAsync(1000)
    const slice = await only()
    expect(slice.endpoints).toHaveLength(5)
    expect(slice.metadata.generation).toBe(generation! + 1)
  })
})

it('finds everything in place after a restart', async () => {
  await start({ maxEndpointsPerSlice: 2 })
  await objects.service('web')
  for (let i = 0; i < 5; i++) await objects.pod(`p${i}`)
  const before = await slices()
  const world = { clock: systemClock, log: silentLogger, random: seededRandom(2) }
  await using informers = createInformerFactory({ transport: plane.client.transport, ...world })
  const context = { ...world, client: plane.client, informers, events: { event: () => {} } }
  await using runner = await runControllers([endpointSliceController(context, { maxEndpointsPerSlice: 2 })], world)
  await expect.poll(() => runner.isBusy).toBe(false)
  expect((await slices()).map(versionOf)).toEqual(before.map(versionOf))
})

const versionOf = (slice: EndpointSlice) => slice.metadata.resourceVersion
