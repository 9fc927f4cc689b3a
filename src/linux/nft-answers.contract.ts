import {
  balance,
  chain,
  endpoint,
  endpointMap,
  forward,
  jump,
  prerouting,
  range,
  ranges,
  rule,
  service,
  serviceMap,
  services,
  sourceAddress,
  table,
} from './nft-layout.contract.ts'
import type { NftTransaction } from './nft-transaction.ts'

export type Change = (transaction: NftTransaction) => unknown

/** Transactions of one change, and what becomes of them. */
export const ANSWERS: [string, string, Change][] = [
  ['a table again', 'ok', (t) => t.addTable(table)],
  ['a missing table deleted', 'ENOENT', (t) => t.deleteTable({ family: 'ip6', name: 'sampan' })],
  ['a missing table destroyed', 'ok', (t) => t.destroyTable({ family: 'ip6', name: 'sampan' })],
  ['a chain in a missing table', 'ENOENT', (t) => t.addChain({ table: { family: 'ip6', name: 'x' }, name: 'x' })],
  ['a chain again', 'ok', (t) => t.addChain(services)],
  [
    'a base chain again on another hook',
    'EOPNOTSUPP',
    (t) => t.addChain({ ...forward, base: { ...forward.base!, hook: 'input' } }),
  ],
  ['a missing chain deleted', 'ENOENT', (t) => t.deleteChain(chain('x'))],
  ['a chain that a rule leads to deleted', 'EBUSY', (t) => t.deleteChain(services)],
  ['a chain that an element leads to deleted', 'EBUSY', (t) => t.deleteChain(balance)],
  [
    'a chain deleted with its rules',
    'ok',
    (t) =>
      t
        .addChain(chain('x'))
        .addRule(chain('x'), rule(jump('lb-2')))
        .deleteChain(chain('x')),
  ],
  ['a missing chain flushed', 'ENOENT', (t) => t.flushChain(chain('x'))],
  ['a rule in a missing chain', 'ENOENT', (t) => t.addRule(chain('x'), rule({ expr: 'counter' }))],
  ['a jump to a missing chain', 'ENOENT', (t) => t.addRule(services, rule(jump('x')))],
  ['a jump to a chain that comes later', 'ENOENT', (t) => t.addRule(services, rule(jump('x'))).addChain(chain('x'))],
  ['a jump to a base chain', 'EOPNOTSUPP', (t) => t.addRule(services, rule(jump('forward')))],
  ['a loop', 'EMLINK', (t) => t.addRule(balance, rule(jump('services')))],
  ['a jump to itself', 'EMLINK', (t) => t.addRule(services, rule(jump('services')))],
  ['a loop through an element', 'EMLINK', (t) => t.addElements(serviceMap, [service('10.96.0.2', 'services')])],
  [
    'a lookup in a missing set',
    'ENOENT',
    (t) => t.addRule(forward, rule(sourceAddress, { expr: 'lookup', set: 'x', from: 0 })),
  ],
  [
    'a register that nothing wrote',
    'ENODATA',
    (t) => t.addRule(forward, rule({ expr: 'compare', from: 0, op: 'eq', value: Buffer.alloc(4) })),
  ],
  [
    'a key that is not whole',
    'ENODATA',
    (t) => t.addRule(forward, rule(sourceAddress, { expr: 'lookup', set: 'endpoints', from: 0 })),
  ],
  [
    'verdicts from a set',
    'EINVAL',
    (t) => t.addRule(forward, rule(sourceAddress, { expr: 'verdict-map', set: 'ranges', from: 0 })),
  ],
  [
    'a packet that changes a fixed set',
    'EOPNOTSUPP',
    (t) => t.addRule(forward, rule(sourceAddress, { expr: 'set-update', op: 'add', set: 'ranges', key: 0 })),
  ],
  ['masquerading in a filter', 'EOPNOTSUPP', (t) => t.addRule(forward, rule({ expr: 'masquerade' }))],
  ['masquerading before routing', 'EOPNOTSUPP', (t) => t.addRule(prerouting, rule({ expr: 'masquerade' }))],
  ['a missing rule deleted', 'ENOENT', (t) => t.deleteRule(services, 99_999n)],
  ['a set again', 'ok', (t) => t.addSet(serviceMap)],
  ['a set again with another key', 'EEXIST', (t) => t.addSet({ ...serviceMap, key: ['ipv4_addr'] })],
  ['a set in use deleted', 'EBUSY', (t) => t.deleteSet(serviceMap)],
  ['a missing set deleted', 'ENOENT', (t) => t.deleteSet({ ...serviceMap, name: 'x' })],
  ['a missing set flushed', 'ENOENT', (t) => t.flushSet({ ...serviceMap, name: 'x' })],
  ['elements of a missing set', 'ENOENT', (t) => t.addElements({ ...serviceMap, name: 'x' }, [service('10.96.0.2')])],
  ['an element again', 'ok', (t) => t.addElements(serviceMap, [service('10.96.0.1')])],
  [
    'an element again with another verdict',
    'EEXIST',
    (t) => t.addChain(chain('lb-3')).addElements(serviceMap, [service('10.96.0.1', 'lb-3')]),
  ],
  [
    'an element again with other data',
    'EEXIST',
    (t) => t.addElements(endpointMap, [endpoint('10.96.0.1', 0, '10.244.0.9')]),
  ],
  [
    'an element moved',
    'ok',
    (t) =>
      t
        .addChain(chain('lb-3'))
        .deleteElements(serviceMap, [service('10.96.0.1')])
        .addElements(serviceMap, [service('10.96.0.1', 'lb-3')]),
  ],
  ['an element to a missing chain', 'ENOENT', (t) => t.addElements(serviceMap, [service('10.96.0.2', 'x')])],
  [
    'an element of a map without data',
    'EINVAL',
    (t) => t.addElements(endpointMap, [{ key: endpoint('10.96.0.2', 0, '10.0.0.1').key }]),
  ],
  [
    'a key of another length',
    'EINVAL',
    (t) => t.addElements(serviceMap, [{ ...service('10.96.0.2'), key: Buffer.alloc(8) }]),
  ],
  ['a missing element deleted', 'ENOENT', (t) => t.deleteElements(serviceMap, [service('10.96.0.2')])],
  ['a range again', 'ok', (t) => t.addElements(ranges, [range('10.0.0.0', '10.255.255.255')])],
  ['a range inside another', 'EEXIST', (t) => t.addElements(ranges, [range('10.1.0.0', '10.1.255.255')])],
  ['a range deleted', 'ok', (t) => t.deleteElements(ranges, [range('10.0.0.0', '10.255.255.255')])],
  ['a range beside another', 'ok', (t) => t.addElements(ranges, [range('11.0.0.0', '11.255.255.255')])],
]
