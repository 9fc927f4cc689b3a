import { beforeEach, describe, expect, test } from 'vitest'
import type { Linux } from './linux.ts'
import type { NftExpression } from './nft-expressions.ts'
import { NftTransaction } from './nft-transaction.ts'
import { encodeValue, encodeValues, type NftValue } from './nft-values.ts'
import { type Nftables, type NftBaseChain, type NftChain, type NftElement, NftError, type NftSet } from './nftables.ts'
import { codeOf, codeOfAsync, scratch } from './scratch.contract.ts'

const table = { family: 'ip', name: 'sampan' } as const
const chain = (name: string, base?: NftBaseChain): NftChain => ({ table, name, ...(base && { base }) })
const prerouting = chain('nat-prerouting', { type: 'nat', hook: 'prerouting', priority: -100, policy: 'accept' })
const postrouting = chain('nat-postrouting', { type: 'nat', hook: 'postrouting', priority: 100, policy: 'accept' })
const forward = chain('forward', { type: 'filter', hook: 'forward', priority: 0, policy: 'drop' })
const services = chain('services')
const balance = chain('lb-2')

const serviceMap: NftSet = {
  table,
  name: 'services',
  key: ['ipv4_addr', 'inet_proto', 'inet_service'],
  data: 'verdict',
}
const endpointMap: NftSet = {
  table,
  name: 'endpoints',
  key: ['ipv4_addr', 'inet_proto', 'inet_service', 'mark'],
  data: ['ipv4_addr', 'inet_service'],
}
const clients: NftSet = {
  table,
  name: 'clients',
  key: ['ipv4_addr'],
  dynamic: true,
  timeoutMs: 10_800_000,
  size: 65535,
}
const ranges: NftSet = { table, name: 'ranges', key: ['ipv4_addr'], interval: true }
const blocks: NftSet = { table, name: 'blocks', key: ['ipv4_addr', 'inet_service'], interval: true, comment: 'policy' }

const sourceAddress: NftExpression = { expr: 'payload', base: 'network', offset: 12, length: 4, to: 0 }
const flowKey: readonly NftExpression[] = [
  { expr: 'payload', base: 'network', offset: 16, length: 4, to: 0 },
  { expr: 'meta', key: 'l4proto', to: 1 },
  { expr: 'payload', base: 'transport', offset: 2, length: 2, to: 2 },
]
const rule = (...expressions: NftExpression[]) => ({ expressions })
const jump = (name: string): NftExpression => ({ expr: 'verdict', verdict: 'jump', chain: name })
const balanceRule = rule(
  ...flowKey,
  { expr: 'number', mode: 'random', modulus: 2, to: 3 },
  { expr: 'map', set: 'endpoints', from: 0, to: 4 },
  { expr: 'nat', type: 'destination', family: 'ip', address: 4, port: 5 },
)

const service = (ip: string, to = 'lb-2'): NftElement => ({
  key: encodeValues(serviceMap.key, [ip, 6, 80]),
  verdict: { verdict: 'goto', chain: to },
})
const endpoint = (ip: string, index: number, address: string): NftElement => ({
  key: encodeValues(endpointMap.key, [ip, 6, 80, index]),
  data: encodeValues(['ipv4_addr', 'inet_service'], [address, 8080]),
})
const range = (first: string, last?: string): NftElement => ({
  key: encodeValue('ipv4_addr', first),
  ...(last && { keyEnd: encodeValue('ipv4_addr', last) }),
})
const block = (first: NftValue[], last: NftValue[]): NftElement => ({
  key: encodeValues(blocks.key, first),
  keyEnd: encodeValues(blocks.key, last),
})

const byKey = (elements: readonly NftElement[]) => [...elements].sort((a, b) => Buffer.compare(a.key, b.key))

/** A service with two endpoints, in the layout that the service proxy uses. */
function layout(): NftTransaction {
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

/** Every expression, in rules that a packet could pass. */
const RULES: [string, NftChain, NftExpression[]][] = [
  [
    'mark',
    services,
    [
      { expr: 'meta', key: 'mark', to: 0 },
      { expr: 'bitwise', from: 0, to: 0, mask: Buffer.from('ffbfffff', 'hex'), xor: Buffer.from('00400000', 'hex') },
      { expr: 'meta-set', key: 'mark', from: 0 },
    ],
  ],
  ['masquerade', postrouting, [{ expr: 'masquerade', fullyRandom: true }]],
  ['plain masquerade', postrouting, [{ expr: 'masquerade' }]],
  [
    'source NAT',
    postrouting,
    [
      { expr: 'immediate', to: 0, value: encodeValue('ipv4_addr', '192.0.2.1') },
      { expr: 'nat', type: 'source', family: 'ip', address: 0 },
    ],
  ],
  [
    'established',
    forward,
    [
      { expr: 'ct', key: 'state', to: 0 },
      { expr: 'bitwise', from: 0, to: 0, mask: encodeValue('mark', 6), xor: encodeValue('mark', 0) },
      { expr: 'compare', from: 0, op: 'ne', value: encodeValue('mark', 0) },
      { expr: 'counter', packets: 0, bytes: 0 },
      { expr: 'verdict', verdict: 'accept' },
    ],
  ],
  [
    'local',
    forward,
    [
      { expr: 'fib-type', of: 'destination', to: 0 },
      { expr: 'compare', from: 0, op: 'eq', value: encodeValue('mark', 2) },
      { expr: 'reject', reason: 'port-unreachable' },
    ],
  ],
  [
    'reset',
    forward,
    [
      { expr: 'meta', key: 'l4proto', to: 0 },
      { expr: 'compare', from: 0, op: 'eq', value: Buffer.from([6]) },
      { expr: 'reject', reason: 'tcp-reset' },
    ],
  ],
  ['affinity', forward, [sourceAddress, { expr: 'set-update', op: 'update', set: 'clients', key: 0, timeoutMs: 5000 }]],
  [
    'ranges',
    forward,
    [
      sourceAddress,
      { expr: 'lookup', set: 'ranges', from: 0, inverted: true },
      { expr: 'limit', rate: 5, per: 'second', burst: 5 },
      { expr: 'log', prefix: 'denied ', group: 3 },
      { expr: 'verdict', verdict: 'drop' },
    ],
  ],
  [
    'interface',
    forward,
    [
      { expr: 'meta', key: 'iifname', to: 0 },
      { expr: 'compare', from: 0, op: 'ne', value: encodeValue('ifname', 'cni0') },
      { expr: 'verdict', verdict: 'return' },
    ],
  ],
  [
    'trace',
    forward,
    [
      { expr: 'immediate', to: 0, value: Buffer.from([1]) },
      { expr: 'meta-set', key: 'nftrace', from: 0 },
    ],
  ],
]

type Change = (transaction: NftTransaction) => unknown

/** Transactions of one change, and what becomes of them. */
const ANSWERS: [string, string, Change][] = [
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

export function nftablesContract(name: string, open: () => Linux): void {
  describe(`nftables: ${name}`, () => {
    const start = scratch(open)
    let nftables: Nftables
    let other: Nftables
    const commit = (change: Change) => {
      const transaction = new NftTransaction()
      change(transaction)
      return nftables.commit(transaction)
    }

    beforeEach(async () => {
      const { linux, namespace, use } = start()
      const inside = namespace()
      nftables = use(linux.openNftables(inside))
      other = use(linux.openNftables(inside))
      await nftables.commit(layout())
    })

    test('a table is listed as it was made', () => {
      expect(nftables.tables()).toEqual([table])
      const contents = nftables.list(table)!
      expect(contents.chains).toEqual([prerouting, postrouting, forward, services, balance])
      expect(contents.sets).toEqual([serviceMap, endpointMap, clients, ranges, blocks])
      expect(contents.rules.map(({ handle, ...rest }) => rest)).toEqual([
        { chain: 'nat-prerouting', expressions: [jump('services')], comment: 'to services' },
        { chain: 'services', ...rule(...flowKey, { expr: 'verdict-map', set: 'services', from: 0 }) },
        { chain: 'lb-2', ...balanceRule },
      ])
      expect(nftables.list({ family: 'ip6', name: 'sampan' })).toBeUndefined()
    })

    test('elements are listed as they were made', async () => {
      await commit((t) => t.addElements(blocks, [block(['10.0.0.0', 80], ['10.0.0.255', 90])]))
      expect(nftables.elements(serviceMap)).toEqual([{ ...service('10.96.0.1'), comment: 'default/web' }])
      expect(byKey(nftables.elements(endpointMap))).toEqual([
        endpoint('10.96.0.1', 0, '10.244.0.5'),
        endpoint('10.96.0.1', 1, '10.244.0.6'),
      ])
      expect(byKey(nftables.elements(ranges))).toEqual([range('10.0.0.0', '10.255.255.255'), range('192.168.0.5')])
      expect(nftables.elements(blocks)).toEqual([block(['10.0.0.0', 80], ['10.0.0.255', 90])])
      expect(codeOf(() => nftables.elements({ ...ranges, name: 'x' }))).toBe('ENOENT')
    })

    test('ranges side by side, and up to the last address', async () => {
      const all = [
        range('10.0.0.0', '10.255.255.255'),
        range('11.0.0.0', '11.0.0.9'),
        range('192.168.0.5'),
        range('240.0.0.0', '255.255.255.255'),
      ]
      await commit((t) => t.addElements(ranges, [all[1]!, all[3]!]))
      expect(byKey(nftables.elements(ranges))).toEqual(all)
    })

    test.each(RULES)('the expressions of %s are read as written', async (_name, where, expressions) => {
      await commit((t) => t.addRule(where, { expressions }))
      const rules = nftables.list(table)!.rules.filter((listed) => listed.chain === where.name)
      expect(rules.at(-1)!.expressions).toEqual(expressions)
    })

    test('rules have an order and are deleted by their handle', async () => {
      const verdict = (v: 'accept' | 'drop' | 'return') => rule({ expr: 'verdict', verdict: v })
      await commit((t) =>
        t.addRule(forward, verdict('accept')).addRule(forward, verdict('drop')).insertRule(forward, verdict('return')),
      )
      const verdicts = () =>
        nftables
          .list(table)!
          .rules.filter((listed) => listed.chain === 'forward')
          .map((listed) => ({ handle: listed.handle, verdict: (listed.expressions[0] as { verdict: string }).verdict }))
      expect(verdicts().map((listed) => listed.verdict)).toEqual(['return', 'accept', 'drop'])
      await commit((t) => t.deleteRule(forward, verdicts()[1]!.handle))
      expect(verdicts().map((listed) => listed.verdict)).toEqual(['return', 'drop'])
      await commit((t) => t.flushChain(forward))
      expect(verdicts()).toEqual([])
    })

    test('what nothing refers to can go', async () => {
      await commit((t) => t.flushChain(services).deleteSet(serviceMap).deleteChain(balance).deleteSet(endpointMap))
      const contents = nftables.list(table)!
      expect(contents.chains.map((listed) => listed.name)).not.toContain('lb-2')
      expect(contents.sets.map((listed) => listed.name)).toEqual(['clients', 'ranges', 'blocks'])
      await commit((t) => t.deleteTable(table))
      expect(nftables.tables()).toEqual([])
    })

    test('a set is flushed', async () => {
      await commit((t) => t.flushSet(serviceMap))
      expect(nftables.elements(serviceMap)).toEqual([])
      expect(await codeOfAsync(commit((t) => t.deleteChain(balance)))).toBe('ok')
    })

    test.each(ANSWERS)('%s: %s', async (_name, code, change) => {
      const before = JSON.stringify([nftables.list(table), nftables.elements(serviceMap)], printable)
      expect(await codeOfAsync(commit(change))).toBe(code)
      if (code === 'ok') return
      expect(JSON.stringify([nftables.list(table), nftables.elements(serviceMap)], printable)).toBe(before)
    })

    test('jumps go sixteen deep', async () => {
      const ladder = (depth: number) => (t: NftTransaction) => {
        for (let i = 1; i <= depth; i++) t.addChain(chain(`d${i}`))
        for (let i = 1; i < depth; i++) t.addRule(chain(`d${i}`), rule(jump(`d${i + 1}`)))
        return t.addRule(forward, rule(jump('d1')))
      }
      expect(await codeOfAsync(commit(ladder(16)))).toBe('EMLINK')
      expect(await codeOfAsync(commit(ladder(15)))).toBe('ok')
    })

    test('a transaction applies as a whole or not at all, and tells each failure', async () => {
      const failing = commit((t) =>
        t
          .addTable({ family: 'ip6', name: 'sampan' })
          .addRule(chain('x'), rule({ expr: 'counter' }))
          .addElements(serviceMap, [service('10.96.0.7')])
          .deleteChain(chain('y')),
      )
      const error = await failing.catch((caught: unknown) => caught)
      expect(error).toBeInstanceOf(NftError)
      expect((error as NftError).failures.map(({ operation, errno }) => [operation, errno])).toEqual([
        [1, 2],
        [3, 2],
      ])
      expect((error as NftError).message).toMatch(/^add-rule x: ENOENT/)
      expect(nftables.tables()).toEqual([table])
      expect(nftables.elements(serviceMap)).toHaveLength(1)
    })

    test('a generation is compared and swapped', async () => {
      const add = new NftTransaction().addElements(serviceMap, [service('10.96.0.2')])
      const seen = nftables.generation()
      await other.commit(new NftTransaction().addElements(serviceMap, [service('10.96.0.3')]))
      expect(nftables.generation()).toBeGreaterThan(seen)
      expect(await codeOfAsync(nftables.commit(add, { generation: seen }))).toBe('ERESTART')
      expect(nftables.elements(serviceMap)).toHaveLength(2)
      await nftables.commit(add, { generation: nftables.generation() })
      expect(nftables.elements(serviceMap)).toHaveLength(3)
    })

    test('whoever changes the rules, it is told', async () => {
      const seen: number[] = []
      const watch = nftables.watch(({ generation }) => seen.push(generation))
      await other.commit(new NftTransaction().addElements(serviceMap, [service('10.96.0.3')]))
      await expect.poll(() => seen).toEqual([nftables.generation()])
      watch[Symbol.dispose]()
    })

    test('thousands of elements in one transaction', async () => {
      const many = Array.from({ length: 5000 }, (_, i) => service(`10.97.${i >> 8}.${i & 255}`))
      await commit((t) => t.addElements(serviceMap, many))
      expect(nftables.elements(serviceMap)).toHaveLength(5001)
      await commit((t) => t.deleteElements(serviceMap, many))
      expect(nftables.elements(serviceMap)).toHaveLength(1)
    })

    test('commits keep their order', async () => {
      const first = commit((t) =>
        t.addElements(
          serviceMap,
          Array.from({ length: 4000 }, (_, i) => service(`10.98.${i >> 8}.${i & 255}`)),
        ),
      )
      const second = commit((t) => t.flushSet(serviceMap))
      await Promise.all([first, second])
      expect(nftables.elements(serviceMap)).toEqual([])
    })
  })
}

const printable = (_key: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value)
