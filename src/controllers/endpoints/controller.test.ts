import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Endpoints } from '../../api/generated/core-v1.ts'
import { endpointsKind } from '../../api/kinds/core/endpoints.ts'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import { serviceKind } from '../../api/kinds/core/service/kind.ts'
import { type ControlPlane, startControlPlane } from '../../testing/control-plane.ts'
import { Objects } from '../endpointslice/endpoints.fixture.ts'
import { portGroup } from '../endpointslice/pod-endpoint.ts'
import { endpointsController } from './controller.ts'
import { type PodAddress, subsetsOf } from './subsets.ts'

let plane: ControlPlane
let objects: Objects
beforeEach(async () => {
  plane = await startControlPlane({ controllers: [endpointsController] })
  objects = new Objects(plane.client)
})
afterEach(async () => plane[Symbol.asyncDispose]())

const client = () => plane.client.resource(endpointsKind).namespace('default')
async function endpoints(name = 'web'): Promise<Endpoints | undefined> {
  await plane.settled()
  return (await client().list()).items.find((item) => item.metadata.name === name)
}
const ips = (object: Endpoints | undefined) =>
  (object?.subsets ?? []).flatMap((s) => s.addresses ?? []).map((a) => a.ip)
const notReady = (object: Endpoints | undefined) =>
  (object?.subsets ?? []).flatMap((subset) => subset.notReadyAddresses ?? []).map(({ ip }) => ip)

describe('the six duties', () => {
  it('a Service that is created gets its pods', async () => {
    await objects.pod('a', { ips: ['10.1.1.1'], spec: { hostname: 'a-0', subdomain: 'web' } })
    await objects.service('web', {}, { labels: { team: 'red' } })
    expect(await endpoints()).toMatchObject({
      metadata: { name: 'web', labels: { team: 'red', 'endpoints.kubernetes.io/managed-by': 'endpoint-controller' } },
      subsets: [
        {
          addresses: [
            {
              ip: '10.1.1.1',
              hostname: 'a-0',
              nodeName: 'n',
              targetRef: { kind: 'Pod', namespace: 'default', name: 'a' },
            },
          ],
          ports: [{ port: 8080, protocol: 'TCP' }],
        },
      ],
    })
  })

  it('a Service that is deleted takes them along', async () => {
    await objects.service('web')
    expect(await endpoints()).toBeDefined()
    await plane.client.resource(serviceKind).namespace('default').delete('web')
    expect(await endpoints()).toBe(undefined)
  })

  it('a Service that changes is computed again', async () => {
    await objects.service('web')
    await objects.pod('a', { ips: ['10.1.1.1'] })
    await objects.pod('b', { labels: { app: 'db' }, ips: ['10.1.1.2'] })
    await objects.patchService('web', { spec: { selector: { app: 'db' } } })
    expect(ips(await endpoints())).toEqual(['10.1.1.2'])
  })

  it('addresses come, become ready, stop being so and go with their pods', async () => {
    await objects.service('web')
    await objects.pod('a', { ips: ['10.1.1.1'], ready: false, finalizers: ['example.com/wait'] })
    expect([ips(await endpoints()), notReady(await endpoints())]).toEqual([[], ['10.1.1.1']])
    await objects.podStatus('a', { ready: true })
    expect([ips(await endpoints()), notReady(await endpoints())]).toEqual([['10.1.1.1'], []])
    await objects.deletePod('a', 30)
    expect([ips(await endpoints()), notReady(await endpoints())]).toEqual([[], []])
  })

  it('owns what it made: changes and deletions by others are undone', async () => {
    await objects.service('web')
    await objects.pod('a', { ips: ['10.1.1.1'] })
    await plane.settled()
    await client().patch('web', { subsets: [] })
    expect(ips(await endpoints())).toEqual(['10.1.1.1'])
    await client().delete('web')
    expect(ips(await endpoints())).toEqual(['10.1.1.1'])
  })

  it('leaves Services without a selector, and Endpoints without a Service, to their users', async () => {
    await objects.service('web', { selector: undefined as never })
    expect(await endpoints()).toBe(undefined)
    await client().create({ metadata: { name: 'mine' }, subsets: [{ addresses: [{ ip: '10.2.2.2' }] }] })
    expect(ips(await endpoints('mine'))).toEqual(['10.2.2.2'])
  })
})

it.each<[string, object, string[]]>([
  ['ready pods only', {}, ['10.1.1.1']],
  [
    'all, also terminating ones, if published',
    { publishNotReadyAddresses: true },
    ['10.1.1.1', '10.1.1.2', '10.1.1.3'],
  ],
  ['no ports but headless', { clusterIP: 'None', ports: [] }, ['10.1.1.1']],
  ['a named port nobody has', { ports: [{ port: 80, targetPort: 'http' }] }, []],
])('%s', async (_, spec, expected) => {
  await objects.pod('a', { ips: ['10.1.1.1'] })
  await objects.pod('b', { ips: ['10.1.1.2'], ready: false })
  await objects.pod('c', { ips: ['10.1.1.3'], finalizers: ['example.com/wait'] })
  await objects.deletePod('c', 30)
  await objects.pod('d', { ips: ['10.1.1.4'], phase: 'Failed' })
  await objects.service('web', spec as never)
  expect(ips(await endpoints())).toEqual(expected)
})

it('marks the endpoints of a headless Service', async () => {
  await objects.service('web', { clusterIP: 'None' })
  expect((await endpoints())?.metadata.labels).toHaveProperty(['service.kubernetes.io/headless'], '')
})

it('does not write for changes of pods that do not matter', async () => {
  await objects.service('web')
  await objects.pod('a')
  const before = (await endpoints())?.metadata.resourceVersion
  await plane.client
    .resource(podKind)
    .namespace('default')
    .patch('a', { metadata: { annotations: { note: 'x' } } })
  expect((await endpoints())?.metadata.resourceVersion).toBe(before)
})

describe('subsets', () => {
  const http = portGroup([{ name: 'http', port: 80, protocol: 'TCP' }])
  const admin = portGroup([{ name: 'admin', port: 81, protocol: 'TCP' }])
  const many = (count: number, isReady: boolean, group = http): PodAddress[] =>
    Array.from({ length: count }, (_, i) => ({ address: { ip: `10.0.${i >> 8}.${i & 255}` }, group, isReady }))
  const sizes = (addresses: PodAddress[]) => {
    const { subsets, isTruncated } = subsetsOf(addresses)
    return [isTruncated, subsets.map((s) => [s.addresses?.length ?? 0, s.notReadyAddresses?.length ?? 0])]
  }

  it.each<[string, PodAddress[], unknown]>([
    [
      'by ports',
      [...many(2, true), ...many(1, false), ...many(3, true, admin)],
      [
        false,
        [
          [3, 0],
          [2, 1],
        ],
      ],
    ],
    ['exactly full', many(1000, true), [false, [[1000, 0]]]],
    ['ready ones first', [...many(900, true), ...many(200, false)], [true, [[900, 100]]]],
    ['ready ones only', [...many(1200, true), ...many(200, false)], [true, [[1000, 0]]]],
    [
      'in proportion',
      [...many(1500, true), ...many(500, true, admin)],
      [
        true,
        [
          [250, 0],
          [750, 0],
        ],
      ],
    ],
  ])('%s', (_, addresses, expected) => expect(sizes(addresses)).toEqual(expected))

  it('that are too many are said to be truncated', async () => {
    for (let i = 0; i < 1001; i++) await objects.pod(`p${i}`)
    await objects.service('web')
    const full = await endpoints()
    expect(full?.metadata.annotations).toHaveProperty(['endpoints.kubernetes.io/over-capacity'], 'truncated')
    expect(ips(full)).toHaveLength(1000)
    await objects.deletePod('p0')
    const annotations = async () => Object.keys((await endpoints())?.metadata.annotations ?? {})
    await expect.poll(annotations, { timeout: 5000 }).not.toContain('endpoints.kubernetes.io/over-capacity')
  })
})
