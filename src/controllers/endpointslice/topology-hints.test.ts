import { afterEach, describe, expect, it } from 'vitest'
import type { Endpoint } from '../../api/generated/discovery-v1.ts'
import { nodeKind } from '../../api/kinds/core/node/kind.ts'
import { endpointSliceKind } from '../../api/kinds/discovery/endpoint-slice.ts'
import { type ControlPlane, startControlPlane } from '../../testing/control-plane.ts'
import { endpointSliceController } from './controller.ts'
import { Objects } from './endpoints.fixture.ts'
import { portGroup } from './pod-endpoint.ts'
import type { PlannedSlice } from './slice-set.ts'
import { assignTopologyHints } from './topology-hints.ts'

const endpoint = (zone: string | undefined, ready = true): Endpoint => ({
  addresses: ['10.0.0.1'],
  conditions: { ready },
  ...(zone && { zone }),
})
const slice = (...endpoints: Endpoint[]): PlannedSlice => ({
  object: undefined,
  group: portGroup([]),
  endpoints,
  isChanged: true,
})
const zonesOf = ({ endpoints }: PlannedSlice) =>
  endpoints.map(({ hints }) => hints?.forZones?.map(({ name }) => name).join() ?? '-').join('')
const ratios = (...parts: [string, number][]) => new Map(parts)
const HALVES = ratios(['a', 0.5], ['b', 0.5])

describe('topology hints', () => {
  it.each<[string, string, Map<string, number> | undefined, string, string | undefined]>([
    ['even zones keep their endpoints', 'aabb', HALVES, 'aabb', undefined],
    ['a zone gives what it has too much', 'aaaaab', HALVES, 'bbaaab', undefined],
    ['in proportion to CPU', 'aabb', ratios(['a', 0.75], ['b', 0.25]), 'aaab', undefined],
    ['not ready ones get none', 'aAbb', ratios(['a', 0.34], ['b', 0.66]), 'a-bb', undefined],
    [
      'one zone',
      'aabb',
      undefined,
      '----',
      'Insufficient Node information: allocatable CPU or zone not specified on one or more nodes',
    ],
    ['too few endpoints', 'a', HALVES, '-', 'Insufficient number of endpoints (1 endpoints, 2 zones)'],
    [
      'too much overload',
      'aab',
      HALVES,
      '---',
      'Unable to allocate minimum required endpoints to each zone without exceeding overload threshold (3 endpoints, 2 zones)',
    ],
    ['an endpoint without a zone', 'aab?', HALVES, '----', 'One or more endpoints do not have a zone specified'],
  ])('%s', (_, zones, parts, expected, problem) => {
    const planned = slice(
      ...[...zones].map((zone) => endpoint(zone === '?' ? undefined : zone.toLowerCase(), zone === zone.toLowerCase())),
    )
    expect(assignTopologyHints([planned], parts)).toBe(problem)
    expect(zonesOf(planned)).toBe(expected)
  })

  it('leaves slices alone whose hints still do', () => {
    const first = slice(endpoint('a'), endpoint('b'))
    assignTopologyHints([first], HALVES)
    first.isChanged = false
    const second = slice(endpoint('a'), endpoint('b'))
    expect(assignTopologyHints([first, second], HALVES)).toBe(undefined)
    expect(first.isChanged).toBe(false)
    expect(zonesOf(second)).toBe('ab')
  })
})

describe('hints of a Service', () => {
  let plane: ControlPlane
  let objects: Objects
  afterEach(async () => plane[Symbol.asyncDispose]())

  async function start(): Promise<void> {
    plane = await startControlPlane({ controllers: [endpointSliceController] })
    objects = new Objects(plane.client)
    for (const [node, zone] of Object.entries({ n: 'a', m: 'b' })) await objects.node(node, zone)
    await objects.pod('p0', { nodeName: 'n' })
    await objects.pod('p1', { nodeName: 'm' })
    await objects.pod('p2', { nodeName: 'm', ready: false })
  }
  async function hints() {
    await plane.settled()
    const { items } = await plane.client.resource(endpointSliceKind).namespace('default').list()
    const endpoints = items.flatMap((item) => item.endpoints ?? [])
    return Object.fromEntries(endpoints.map((one) => [one.targetRef!.name, one.hints]))
  }
  const a = { forZones: [{ name: 'a' }] }
  const b = { forZones: [{ name: 'b' }] }
  const AUTO = { 'service.kubernetes.io/topology-mode': 'Auto' }

  it.each<[string, object, object]>([
    ['PreferClose', { p0: a, p1: b, p2: undefined }, {}],
    ['PreferSameZone', { p0: a, p1: b, p2: undefined }, {}],
    ['PreferSameNode', { p0: { ...a, forNodes: [{ name: 'n' }] }, p1: { ...b, forNodes: [{ name: 'm' }] } }, {}],
    ['PreferSameNode', { p0: a, p1: b, p2: undefined }, AUTO],
  ])('%s', async (trafficDistribution, expected, annotations) => {
    await start()
    await objects.service('web', { trafficDistribution }, { annotations } as never)
    expect(await hints()).toMatchObject(expected)
    await objects.patchService('web', {
      metadata: { annotations: null },
      spec: { trafficDistribution: null },
    })
    expect(await hints()).toEqual({ p0: undefined, p1: undefined, p2: undefined })
  })

  it('Auto comes and goes with what is known of the nodes', async () => {
    await start()
    await objects.service('web', {}, { annotations: AUTO } as never)
    expect(await hints()).toMatchObject({ p0: a, p1: b })
    expect(plane.events).toContain(
      'TopologyAwareHintsEnabled: Topology Aware Hints has been enabled, addressType: IPv4',
    )
    await plane.client.resource(nodeKind).patch('m', { metadata: { labels: { 'topology.kubernetes.io/zone': null } } })
    expect(await hints()).toMatchObject({ p0: undefined, p1: undefined })
    expect(plane.events.at(-1)).toBe(
      'TopologyAwareHintsDisabled: Insufficient Node information: allocatable CPU or zone not specified on one or more nodes, addressType: IPv4',
    )
  })
})
