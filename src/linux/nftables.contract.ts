import { beforeEach, describe, expect, test } from 'vitest'
import type { Linux } from './linux.ts'
import { ANSWERS, type Change } from './nft-answers.contract.ts'
import {
  balance,
  balanceRule,
  block,
  blocks,
  byKey,
  chain,
  clients,
  endpoint,
  endpointMap,
  flowKey,
  forward,
  jump,
  layout,
  postrouting,
  prerouting,
  range,
  ranges,
  rule,
  service,
  serviceMap,
  services,
  table,
} from './nft-layout.contract.ts'
import { RULES } from './nft-rules.contract.ts'
import { NftTransaction } from './nft-transaction.ts'
import { type Nftables, NftError } from './nftables.ts'
import { codeOf, codeOfAsync, scratch } from './scratch.contract.ts'

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
