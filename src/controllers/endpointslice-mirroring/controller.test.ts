import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { EndpointSubset, Endpoints } from '../../api/generated/core-v1.ts'
import type { EndpointSlice } from '../../api/generated/discovery-v1.ts'
import { endpointsKind } from '../../api/kinds/core/endpoints.ts'
import { serviceKind } from '../../api/kinds/core/service/kind.ts'
import { endpointSliceKind } from '../../api/kinds/discovery/endpoint-slice.ts'
import type { ObjectMeta } from '../../api/meta/object.ts'
import { type ControlPlane, startControlPlane } from '../../testing/control-plane.ts'
import { Objects } from '../endpointslice/endpoints.fixture.ts'
import { endpointSliceMirroringController } from './controller.ts'
import { mirrorsOf } from './mirrored-slices.ts'

describe('mirroring', () => {
  let plane: ControlPlane
  let objects: Objects
  beforeEach(async () => {
    plane = await startControlPlane({ controllers: [endpointSliceMirroringController] })
    objects = new Objects(plane.client)
  })
  afterEach(async () => plane[Symbol.asyncDispose]())

  const endpointsClient = () => plane.client.resource(endpointsKind).namespace('default')
  const make = (subsets: EndpointSubset[], metadata: ObjectMeta = {}) =>
    endpointsClient().create({ metadata: { name: 'web', ...metadata }, subsets })
  const bare = () => objects.service('web', { selector: undefined as never })
  async function slices(): Promise<EndpointSlice[]> {
    await plane.settled()
    const { items } = await plane.client.resource(endpointSliceKind).namespace('default').list({
      labelSelector: 'kubernetes.io/service-name=web',
    })
    return items
  }
  const ONE = [{ addresses: [{ ip: '10.1.1.1' }], ports: [{ port: 80 }] }]

  it('makes slices of Endpoints for a Service without a selector', async () => {
    await bare()
    const { metadata } = await make(
      [
        {
          addresses: [{ ip: '10.1.1.1', hostname: 'a' }],
          notReadyAddresses: [{ ip: 'fd00::1' }],
          ports: [{ port: 80 }],
        },
      ],
      {
        labels: { team: 'red' },
        annotations: { note: 'x', 'kubectl.kubernetes.io/last-applied-configuration': '{}' },
      },
    )
    const all = await slices()
    expect(all.map((slice) => slice.addressType).sort()).toEqual(['IPv4', 'IPv6'])
    const v4 = all.find((slice) => slice.addressType === 'IPv4')!
    expect(v4.metadata).toMatchObject({
      generateName: 'web-',
      labels: {
        team: 'red',
        'kubernetes.io/service-name': 'web',
        'endpointslice.kubernetes.io/managed-by': 'endpointslicemirroring-controller.k8s.io',
      },
      ownerReferences: [{ kind: 'Endpoints', name: 'web', uid: metadata.uid, controller: true }],
    })
    expect(v4.metadata.annotations).toEqual({ note: 'x' })
    expect(v4.endpoints).toEqual([{ addresses: ['10.1.1.1'], conditions: { ready: true }, hostname: 'a' }])
    expect(v4.ports).toEqual([{ name: '', port: 80, protocol: 'TCP' }])
    const v6 = all.find((slice) => slice.addressType === 'IPv6')!
    expect(v6.endpoints).toEqual([{ addresses: ['fd00::1'], conditions: { ready: false } }])
  })

  it.each<[string, ObjectMeta]>([
    ['skip-mirror', { labels: { 'endpointslice.kubernetes.io/skip-mirror': 'true' } }],
    ['leader election', { annotations: { 'control-plane.alpha.kubernetes.io/leader': '{}' } }],
  ])('leaves out %s', async (_, metadata) => {
    await bare()
    await make(ONE, metadata)
    expect(await slices()).toEqual([])
    await endpointsClient().patch('web', { metadata: { labels: null, annotations: null } })
    expect(await slices()).toHaveLength(1)
  })

  it('follows changes, using the same slice', async () => {
    await bare()
    await make(ONE)
    const [before] = await slices()
    await endpointsClient().patch('web', { subsets: [{ addresses: [{ ip: '10.1.1.2' }], ports: [{ port: 81 }] }] })
    const after = await slices()
    expect(after.map(({ metadata }) => metadata.uid)).toEqual([before!.metadata.uid])
    expect(after[0]).toMatchObject({ endpoints: [{ addresses: ['10.1.1.2'] }], ports: [{ port: 81 }] })
  })

  it.each<[string, () => Promise<unknown>]>([
    ['the Endpoints are deleted', () => endpointsClient().delete('web')],
    ['the Service is deleted', () => plane.client.resource(serviceKind).namespace('default').delete('web')],
    ['the Service gets a selector', () => objects.patchService('web', { spec: { selector: { app: 'x' } } })],
  ])('ends when %s', async (_, act) => {
    await bare()
    await make(ONE)
    expect(await slices()).toHaveLength(1)
    await act()
    expect(await slices()).toEqual([])
  })

  it('repairs what others do to its slices', async () => {
    await bare()
    await make(ONE)
    const [slice] = await slices()
    await plane.client.resource(endpointSliceKind).namespace('default').delete(slice!.metadata.name!)
    expect((await slices())[0]?.endpoints?.[0]?.addresses).toEqual(['10.1.1.1'])
  })

  it('mirrors a thousand addresses of a subset and tells of the others', async () => {
    await bare()
    await make([{ addresses: Array.from({ length: 1003 }, (_, i) => ({ ip: `10.0.${i >> 8}.${i & 255}` })) }])
    expect((await slices())[0]?.endpoints).toHaveLength(1000)
    expect(plane.events).toContain(
      'TooManyAddressesToMirror: A max of 1000 addresses can be mirrored to EndpointSlices per Endpoints subset. 3 addresses were skipped',
    )
  })
})

describe('repacking', () => {
  const address = (ip: string) => ({ ip })
  const subset = (port: number, ips: string[], notReady: string[] = []): EndpointSubset => ({
    ports: [{ name: `p${port}`, port, protocol: 'TCP' }],
    addresses: ips.map(address),
    notReadyAddresses: notReady.map(address),
  })
  const shape = (...subsets: EndpointSubset[]) =>
    mirrorsOf({ metadata: {}, subsets } as Endpoints).mirrors.map(
      ({ ports, endpoints }) =>
        `${ports.map(({ port }) => port)}:${endpoints.map((e) => `${e.addresses[0]}${e.conditions?.ready ? '' : '!'}`)}`,
    )

  it.each<[string, EndpointSubset[], string[]]>([
    ['same addresses', [subset(1, ['10.0.0.1']), subset(2, ['10.0.0.1'])], ['1,2:10.0.0.1']],
    ['same ports', [subset(1, ['10.0.0.1']), subset(1, ['10.0.0.2'])], ['1:10.0.0.1,10.0.0.2']],
    ['different states', [subset(1, ['10.0.0.1']), subset(2, [], ['10.0.0.1'])], ['1:10.0.0.1', '2:10.0.0.1!']],
    ['twice the same', [subset(1, ['10.0.0.1']), subset(1, ['10.0.0.1'])], ['1:10.0.0.1']],
    ['sloppy addresses', [subset(1, ['010.0.0.1'])], ['1:10.0.0.1']],
  ])('%s', (_, subsets, expected) => expect(shape(...subsets)).toEqual(expected))
})
