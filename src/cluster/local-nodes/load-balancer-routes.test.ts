import { beforeEach, expect, test } from 'vitest'
import type { Service } from '../../api/generated/core-v1.ts'
import type { EndpointSlice } from '../../api/generated/discovery-v1.ts'
import type { Listener } from '../../client/informer.ts'
import { followLoadBalancers } from './load-balancer-routes.ts'

const nodes = ['node-1', 'node-2', 'node-3'].map((name) => ({ name, namespace: name, address: name }))

let routes: Record<string, string>
let changes: number
let service: Service | undefined
let slice: EndpointSlice | undefined
let tellService: Listener<Service>
let tellSlice: Listener<EndpointSlice>

beforeEach(() => {
  routes = {}
  changes = 0
  service = undefined
  slice = undefined
  const network = {
    route(destination: string, { address }: { address: string }) {
      routes[destination] = address
      changes++
    },
    unroute(destination: string, { address }: { address: string }) {
      if (routes[destination] === address) delete routes[destination]
    },
  }
  const services = {
    get: () => service,
    onChange(listener: Listener<Service>) {
      tellService = listener
      return () => {}
    },
  }
  const slices = {
    addIndexes: () => {},
    byIndex: () => (slice ? [slice] : []),
    onChange(listener: Listener<EndpointSlice>) {
      tellSlice = listener
      return () => {}
    },
  }
  followLoadBalancers(network, nodes, services, slices)
})

function setService(spec: Service['spec'] | undefined, ips: readonly string[] = ['10.98.0.1']): void {
  const old = service
  service = spec && {
    metadata: { namespace: 'default', name: 'web' },
    spec: { type: 'LoadBalancer', externalTrafficPolicy: 'Local', ...spec },
    status: { loadBalancer: { ingress: ips.map((ip) => ({ ip })) } },
  }
  tellService(old, service)
}

/** `node-2!` is a node whose endpoint is not ready. */
function setEndpoints(...on: string[]): void {
  const old = slice
  slice = {
    metadata: { namespace: 'default', name: 'web-1', labels: { 'kubernetes.io/service-name': 'web' } },
    addressType: 'IPv4',
    endpoints: on.map((text) => ({
      addresses: ['10.244.0.5'],
      nodeName: text.replace('!', ''),
      conditions: { ready: !text.endsWith('!') },
    })),
  }
  tellSlice(old, slice)
}

test.each<[string, readonly string[], Service['spec'], Record<string, string>]>([
  ['a node that has endpoints', ['node-2'], {}, { '10.98.0.1/32': 'node-2' }],
  ['the first of those', ['node-3', 'node-2'], {}, { '10.98.0.1/32': 'node-2' }],
  ['one whose endpoints are ready', ['node-2!', 'node-3'], {}, { '10.98.0.1/32': 'node-3' }],
  ['nowhere without endpoints', ['node-2!'], {}, {}],
  ['as all others under a Cluster policy', ['node-2'], { externalTrafficPolicy: 'Cluster' }, {}],
  ['nowhere if it is no load balancer', ['node-2'], { type: 'NodePort' }, {}],
])('an address leads to: %s', (_name, on, spec, expected) => {
  setService(spec)
  setEndpoints(...on)
  expect(routes).toEqual(expected)
})

test('it moves only when its node has no endpoints any more', () => {
  setEndpoints('node-2')
  setService({})
  setEndpoints('node-1', 'node-2')
  expect(routes).toEqual({ '10.98.0.1/32': 'node-2' })
  expect(changes).toBe(1)
  setEndpoints('node-1', 'node-2!')
  expect(routes).toEqual({ '10.98.0.1/32': 'node-1' })
})

test('addresses come and go', () => {
  setEndpoints('node-2')
  setService({}, ['10.98.0.1', 'fd00::1'])
  setService({}, ['10.98.0.2'])
  expect(routes).toEqual({ '10.98.0.2/32': 'node-2' })
  setService({ externalTrafficPolicy: 'Cluster' }, ['10.98.0.2'])
  expect(routes).toEqual({})
  setService({}, ['10.98.0.2'])
  setService(undefined)
  expect(routes).toEqual({})
})
