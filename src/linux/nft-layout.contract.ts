/** The tables, sets and rules that the contract of nftables works on. */
import type { NftExpression } from './nft-expressions.ts'
import { NftTransaction } from './nft-transaction.ts'
import { encodeValue, encodeValues, type NftValue } from './nft-values.ts'
import type { NftBaseChain, NftChain, NftElement, NftSet } from './nftables.ts'

export const table = { family: 'ip', name: 'sampan' } as const
export const chain = (name: string, base?: NftBaseChain): NftChain => ({ table, name, ...(base && { base }) })
export const prerouting = chain('nat-prerouting', { type: 'nat', hook: 'prerouting', priority: -100, policy: 'accept' })
export const postrouting = chain('nat-postrouting', {
  type: 'nat',
  hook: 'postrouting',
  priority: 100,
  policy: 'accept',
})
export const forward = chain('forward', { type: 'filter', hook: 'forward', priority: 0, policy: 'drop' })
export const services = chain('services')
export const balance = chain('lb-2')

export const serviceMap: NftSet = {
  table,
  name: 'services',
  key: ['ipv4_addr', 'inet_proto', 'inet_service'],
  data: 'verdict',
}
export const endpointMap: NftSet = {
  table,
  name: 'endpoints',
  key: ['ipv4_addr', 'inet_proto', 'inet_service', 'mark'],
  data: ['ipv4_addr', 'inet_service'],
}
export const clients: NftSet = {
  table,
  name: 'clients',
  key: ['ipv4_addr'],
  dynamic: true,
  timeoutMs: 10_800_000,
  size: 65535,
}
export const ranges: NftSet = { table, name: 'ranges', key: ['ipv4_addr'], interval: true }
export const blocks: NftSet = {
  table,
  name: 'blocks',
  key: ['ipv4_addr', 'inet_service'],
  interval: true,
  comment: 'policy',
}

export const sourceAddress: NftExpression = { expr: 'payload', base: 'network', offset: 12, length: 4, to: 0 }
export const flowKey: readonly NftExpression[] = [
  { expr: 'payload', base: 'network', offset: 16, length: 4, to: 0 },
  { expr: 'meta', key: 'l4proto', to: 1 },
  { expr: 'payload', base: 'transport', offset: 2, length: 2, to: 2 },
]
export const rule = (...expressions: NftExpression[]) => ({ expressions })
export const jump = (name: string): NftExpression => ({ expr: 'verdict', verdict: 'jump', chain: name })
export const balanceRule = rule(
  ...flowKey,
  { expr: 'number', mode: 'random', modulus: 2, to: 3 },
  { expr: 'map', set: 'endpoints', from: 0, to: 4 },
  { expr: 'nat', type: 'destination', family: 'ip', address: 4, port: 5 },
)

export const service = (ip: string, to = 'lb-2'): NftElement => ({
  key: encodeValues(serviceMap.key, [ip, 6, 80]),
  verdict: { verdict: 'goto', chain: to },
})
export const endpoint = (ip: string, index: number, address: string): NftElement => ({
  key: encodeValues(endpointMap.key, [ip, 6, 80, index]),
  data: encodeValues(['ipv4_addr', 'inet_service'], [address, 8080]),
})
export const range = (first: string, last?: string): NftElement => ({
  key: encodeValue('ipv4_addr', first),
  ...(last && { keyEnd: encodeValue('ipv4_addr', last) }),
})
export const block = (first: NftValue[], last: NftValue[]): NftElement => ({
  key: encodeValues(blocks.key, first),
  keyEnd: encodeValues(blocks.key, last),
})

export const byKey = (elements: readonly NftElement[]) => [...elements].sort((a, b) => Buffer.compare(a.key, b.key))

/** A service with two endpoints, in the layout that the service proxy uses. */
export function layout(): NftTransaction {
  const transaction = new NftTransaction().addTable(table)
  for (const added of [prerouting, postrouting, forward, services, balance]) transaction.addChain(added)
  for (const added of [serviceMap, endpointMap, clients, ranges, blocks]) transaction.addSet(added)
  return transaction
    .addRule(prerouting, { ...rule(jump('services')), comment: 'to services' })
    .addRule(services, rule(...flowKey, { expr: 'verdict-map', set: 'services', from: 0 }))
    .addRule(balance, balanceRule)
    .addElements(endpointMap, [endpoint('10.96.0.1', 0, '10.244.0.5'), endpoint('10.96.0.1', 1, '10.244.0.6')])
    .addElements(serviceMap, [{ ...service('10.96.0.1'), comment: 'default/web' }])
    .addElements(ranges, [range('10.0.0.0', '10.255.255.255'), range('192.168.0.5')])
}
