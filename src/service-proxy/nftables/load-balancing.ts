/** Chains that choose an endpoint: numbered ones that all ports of the same size share, and sticky ones of a single port. */
import { createHash } from 'node:crypto'
import type { NftExpression } from '../../linux/nft-expressions.ts'
import { encodeValue, encodeValues } from '../../linux/nft-values.ts'
import type { NftElement, NftRule, NftSet } from '../../linux/nftables.ts'
import { type Endpoint, PROTOCOL_NUMBERS, type ServicePort } from '../service-port.ts'
import { frontendKey, goto, type Layout, nodePortKey, rule, source } from './layout.ts'
import type { Rendered, RenderedChain, RenderedElement } from './skeleton.ts'

/** The two kinds of places that clients send to. */
export type FrontendKind = 'address' | 'nodeport'

export type Scope = 'cluster' | 'local'

/** Endpoints in the order of their numbers. */
export type Slots = Readonly<Record<Scope, readonly Endpoint[]>>

/** Numbers of local endpoints begin here: one address may have both kinds. */
const LOCAL_OFFSET = 0x10000
const AFFINITY_CLIENTS = 65_536
const NUMBERED_NAMES: Readonly<Record<FrontendKind, string>> = { address: 'lb', nodeport: 'nodeport-lb' }

/**
 * `dnat ip to ip daddr . meta l4proto . th dport . numgen random mod 3 map @endpoints`. A packet that chose a number just
 * before the last endpoint went finds nothing there, and takes the first.
 */
export function numberedRules(layout: Layout, kind: FrontendKind, scope: Scope, count: number): NftRule[] {
  const key = kind === 'address' ? frontendKey(layout) : nodePortKey()
  const number = kind === 'address' ? layout.words + 2 : 2
  const address = number + 1
  const offset = scope === 'local' ? { offset: LOCAL_OFFSET } : {}
  const toOneOf = (modulus: number) =>
    rule([
      ...key,
      { expr: 'number', mode: 'random', modulus, ...offset, to: number },
      { expr: 'map', set: kind === 'address' ? 'endpoints' : 'nodeport-endpoints', from: 0, to: address },
      { expr: 'nat', type: 'destination', family: layout.table.family as 'ip', address, port: address + layout.words },
    ])
  return count > 1 ? [toOneOf(count), toOneOf(1)] : [toOneOf(1)]
}

/** The chains that do nothing else, before their size. */
export const numberedName = (kind: FrontendKind, scope: Scope) =>
  scope === 'local' ? `${NUMBERED_NAMES[kind]}-local` : NUMBERED_NAMES[kind]

/** The numbered endpoints of one address. */
export function addressEndpoints(
  layout: Layout,
  port: ServicePort,
  ip: string,
  scope: Scope,
  endpoints: readonly Endpoint[],
): RenderedElement[] {
  const set = layout.sets.endpoints
  const protocol = PROTOCOL_NUMBERS[port.protocol]
  return endpoints.map((endpoint, i) => ({
    set,
    element: {
      key: encodeValues(set.key, [ip, protocol, port.port, numberOf(scope, i)]),
      data: targetBytes(layout, endpoint),
    },
  }))
}

/** The numbered endpoints of the node port. */
export function nodePortEndpoints(
  layout: Layout,
  port: ServicePort,
  scope: Scope,
  endpoints: readonly Endpoint[],
): RenderedElement[] {
  const set = layout.sets['nodeport-endpoints']
  const protocol = PROTOCOL_NUMBERS[port.protocol]
  return endpoints.map((endpoint, i) => ({
    set,
    element: {
      key: encodeValues(set.key, [protocol, port.nodePort, numberOf(scope, i)]),
      data: targetBytes(layout, endpoint),
    },
  }))
}

const numberOf = (scope: Scope, i: number) => (scope === 'local' ? LOCAL_OFFSET + i : i)

const targetBytes = ({ address }: Layout, { ip, port }: Endpoint) => encodeValues([address, 'inet_service'], [ip, port])

/** Another timeout needs other sets, so it gives another hash. */
const hashOf = ({ key, affinitySeconds }: ServicePort) =>
  createHash('sha256').update(`${key} ${affinitySeconds}`).digest('hex').slice(0, 10)

/** Clients come back to their endpoint: each endpoint has a set of those it knows. */
export function stickyChain(layout: Layout, port: ServicePort, scope: Scope, slots: Slots): RenderedChain {
  const hash = hashOf(port)
  const name = stickyName(hash, scope)
  const known = slots[scope].map((endpoint) =>
    rule([
      source(layout),
      { expr: 'lookup', set: clientsName(hash, endpoint), from: 0 },
      goto(endpointChainName(hash, endpoint)),
    ]),
  )
  const toOneOf = (modulus: number) =>
    rule(
      [
        { expr: 'number', mode: 'random', modulus, to: 0 },
        { expr: 'verdict-map', set: name, from: 0 },
      ],
      port.name,
    )
  const count = slots[scope].length
  return { name, rules: [...known, toOneOf(count), ...(count > 1 ? [toOneOf(1)] : [])], isOwn: true }
}

/** The chains and sets of all endpoints of a sticky port. */
export function stickyEndpoints(layout: Layout, port: ServicePort, scopes: readonly Scope[], slots: Slots): Rendered {
  const hash = hashOf(port)
  const used = new Map(scopes.flatMap((scope) => slots[scope]).map((endpoint) => [endpoint.id, endpoint]))
  const sets: NftSet[] = []
  const chains: RenderedChain[] = []
  for (const endpoint of used.values()) {
    const clients = clientsSet(layout, port, hash, endpoint)
    sets.push(clients)
    chains.push({ name: endpointChainName(hash, endpoint), rules: endpointRules(layout, port, clients, endpoint) })
  }
  const elements: RenderedElement[] = []
  for (const scope of scopes) {
    const set: NftSet = {
      table: layout.table,
      name: stickyName(hash, scope),
      key: ['mark'],
      data: 'verdict',
      comment: commentOf(port),
    }
    sets.push(set)
    for (const [i, endpoint] of slots[scope].entries()) elements.push({ set, element: choice(i, hash, endpoint) })
  }
  return { sets, chains, elements }
}

const choice = (i: number, hash: string, endpoint: Endpoint): NftElement => ({
  key: encodeValue('mark', i),
  verdict: { verdict: 'goto', chain: endpointChainName(hash, endpoint) },
})

const stickyName = (hash: string, scope: Scope) => (scope === 'local' ? `sticky-local-${hash}` : `sticky-${hash}`)
/** Colons mean something else in the names of chains. */
const targetName = ({ ip, port }: Endpoint) => `${ip.replaceAll(':', '.')}/${port}`
const clientsName = (hash: string, endpoint: Endpoint) => `clients-${hash}-${targetName(endpoint)}`
const endpointChainName = (hash: string, endpoint: Endpoint) => `endpoint-${hash}-${targetName(endpoint)}`

const clientsSet = ({ table, address }: Layout, port: ServicePort, hash: string, endpoint: Endpoint): NftSet => ({
  table,
  name: clientsName(hash, endpoint),
  key: [address],
  dynamic: true,
  timeoutMs: port.affinitySeconds! * 1000,
  size: AFFINITY_CLIENTS,
  comment: commentOf(port),
})

function endpointRules(layout: Layout, port: ServicePort, clients: NftSet, { ip, port: target }: Endpoint): NftRule[] {
  const toEndpoint: NftExpression[] = [
    { expr: 'immediate', to: 0, value: encodeValue(layout.address, ip) },
    { expr: 'immediate', to: layout.words, value: encodeValue('inet_service', target) },
    { expr: 'nat', type: 'destination', family: layout.table.family as 'ip', address: 0, port: layout.words },
  ]
  return [
    rule([source(layout), { expr: 'set-update', op: 'update', set: clients.name, key: 0 }], commentOf(port)),
    rule(toEndpoint),
  ]
}

/** nft reads comments of up to 128 bytes. */
const LONGEST_COMMENT = 120

/** Whose rule it is. */
export const commentOf = ({ name }: ServicePort) =>
  name.length <= LONGEST_COMMENT ? name : `${name.slice(0, LONGEST_COMMENT - 3)}...`
