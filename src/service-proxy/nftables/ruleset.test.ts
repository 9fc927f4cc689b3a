import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fakeLinux } from '../../linux/fake-linux.ts'
import { chainUsedBy } from '../../linux/nft-expressions.ts'
import { NftTransaction } from '../../linux/nft-transaction.ts'
import type { Nftables, NftElement } from '../../linux/nftables.ts'
import type { ProxyNode } from '../backend.ts'
import type { Endpoint, ServicePort } from '../service-port.ts'
import { sameElement } from './element-changes.ts'
import { appendDifference, replaceTable, ruleText } from './kernel-difference.ts'
import { layoutOf } from './layout.ts'
import { Ruleset } from './ruleset.ts'
import { assignSlots } from './slots.ts'

const node: ProxyNode = {
  nodeIPs: ['192.168.10.1'],
  localDetector: { by: 'cidr', cidrs: ['10.244.0.0/16'] },
  masqueradeAll: false,
  masqueradeBit: 14,
  nodePortAddresses: 'primary',
  serviceCIDRs: ['10.96.0.0/16'],
}

const endpoint = (i: number): Endpoint => ({
  ip: `10.244.${i & 1}.${i}`,
  port: 8080,
  isLocal: (i & 1) === 0,
  id: `10.244.${i & 1}.${i} 8080`,
})

interface Shape {
  readonly endpoints: readonly number[]
  readonly internalLocal: boolean
  readonly externalLocal: boolean
  readonly affinity: boolean
  readonly nodePort: boolean
  readonly loadBalancer: boolean
  readonly ranges: boolean
}

function port(number: number, shape: Shape): ServicePort {
  const all = shape.endpoints.map(endpoint)
  return {
    key: `default/s${number}/TCP/IPv4`,
    service: `default/s${number}`,
    name: `default/s${number}`,
    family: 'IPv4',
    protocol: 'TCP',
    port: 80,
    clusterIP: `10.96.0.${number + 1}`,
    nodePort: shape.nodePort ? 30_000 + number : 0,
    externalIPs: [],
    loadBalancerIPs: shape.loadBalancer ? [`172.16.0.${number + 1}`] : [],
    sourceRanges: shape.ranges ? ['10.0.0.0/8', '10.1.0.0/16', '192.168.10.0/24'] : [],
    affinitySeconds: shape.affinity ? 60 : undefined,
    internalPolicyLocal: shape.internalLocal,
    externalPolicyLocal: shape.externalLocal,
    healthCheckNodePort: 0,
    clusterEndpoints: all,
    localEndpoints: all.filter(({ isLocal }) => isLocal),
    servingEndpoints: [],
    hasEndpoints: all.length > 0,
  }
}

const shapes = fc.record({
  endpoints: fc.uniqueArray(fc.integer({ min: 1, max: 9 }), { maxLength: 5 }),
  internalLocal: fc.boolean(),
  externalLocal: fc.boolean(),
  affinity: fc.boolean(),
  nodePort: fc.boolean(),
  loadBalancer: fc.boolean(),
  ranges: fc.boolean(),
})

/**
 * Everything in the table that a packet may meet, in an order of its own; endpoints by address only, as their numbers
 * depend on history.
 */
function contentsOf(nftables: Nftables, layout: ReturnType<typeof layoutOf>) {
  const { chains, sets, rules } = nftables.list(layout.table)!
  const leading = JSON.stringify([
    rules.flatMap(({ expressions }) => expressions.map(chainUsedBy)),
    sets.map((set) => nftables.elements(set).map(({ verdict }) => verdict)),
  ])
  const isMet = (name: string) => !/-\d+$/.test(name) || leading.includes(`"${name}"`)
  const elementText = (name: string, { key, keyEnd, data, verdict }: NftElement) => {
    const hex = (bytes: Uint8Array | undefined) => Buffer.from(bytes ?? []).toString('hex')
    // Of the number only whether it is one for local endpoints.
    if (/endpoints$/.test(name) && data) return `${hex(key).slice(0, -8)} ${hex(key).slice(-4)} ${hex(data)}`
    return name.startsWith('sticky') ? JSON.stringify(verdict) : `${hex(key)} ${hex(keyEnd)} ${JSON.stringify(verdict)}`
  }
  return {
    chains: chains
      .map(({ name }) => name)
      .filter(isMet)
      .sort(),
    rules: rules
      .filter(({ chain }) => isMet(chain) && !chain.startsWith('sticky'))
      .map((rule) => `${rule.chain}: ${ruleText(rule)}`)
      .sort(),
    sets: Object.fromEntries(
      sets
        .map(({ name }) => name)
        .sort()
        .map((name) => [
          name,
          nftables
            .elements(sets.find((set) => set.name === name)!)
            .map((element) => elementText(name, element))
            .sort(),
        ]),
    ),
  }
}

const plain: Shape = {
  endpoints: [2, 3, 4],
  internalLocal: false,
  externalLocal: false,
  affinity: false,
  nodePort: false,
  loadBalancer: false,
  ranges: false,
}

describe('a ruleset', () => {
  test('changed step by step is the same as one made at once', async () => {
    const changes = fc.array(fc.array(fc.tuple(fc.integer({ min: 0, max: 4 }), fc.option(shapes)), { maxLength: 4 }), {
      maxLength: 8,
    })
    await fc.assert(
      fc.asyncProperty(changes, async (rounds) => {
        const layout = layoutOf('IPv4')
        const stepwise = fakeLinux().openNftables()
        const ruleset = new Ruleset(layout, node)
        const first = new NftTransaction()
        replaceTable(ruleset.load([]), first)
        await stepwise.commit(first)
        const ports = new Map<string, ServicePort>()
        for (const round of rounds) {
          const changed = new Map<string, ServicePort | undefined>()
          for (const [number, shape] of round)
            changed.set(`default/s${number}/TCP/IPv4`, shape ? port(number, shape) : undefined)
          for (const [key, value] of changed) {
            if (value) ports.set(key, value)
            else ports.delete(key)
          }
          const transaction = new NftTransaction()
          ruleset.change(changed, transaction)
          await stepwise.commit(transaction)
        }
        const atOnce = fakeLinux().openNftables()
        const transaction = new NftTransaction()
        const wanted = new Ruleset(layout, node).load(ports.values())
        replaceTable(wanted, transaction)
        await atOnce.commit(transaction)
        expect(contentsOf(stepwise, layout)).toEqual(contentsOf(atOnce, layout))

        const difference = new NftTransaction()
        expect(appendDifference(atOnce, wanted, atOnce.list(layout.table)!, difference)).toBe(true)
        expect(difference.operations).toEqual([])
      }),
      { numRuns: 40 },
    )
  })

  test('any table becomes any other by its difference', async () => {
    const lists = fc.array(shapes, { maxLength: 4 })
    await fc.assert(
      fc.asyncProperty(lists, lists, async (before, after) => {
        const layout = layoutOf('IPv4')
        const nftables = fakeLinux().openNftables()
        const write = async (list: readonly Shape[]) => {
          const wanted = new Ruleset(layout, node).load(list.map((shape, i) => port(i, shape)))
          const transaction = new NftTransaction()
          const actual = nftables.list(layout.table)
          if (!actual) replaceTable(wanted, transaction)
          else expect(appendDifference(nftables, wanted, actual, transaction)).toBe(true)
          await nftables.commit(transaction)
        }
        await write(before)
        await write(after)
        const fresh = fakeLinux().openNftables()
        const transaction = new NftTransaction()
        replaceTable(new Ruleset(layout, node).load(after.map((shape, i) => port(i, shape))), transaction)
        await fresh.commit(transaction)
        expect(contentsOf(nftables, layout)).toEqual(contentsOf(fresh, layout))
      }),
      { numRuns: 40 },
    )
  })

  test('packets pass base chains for firewalls and missing endpoints only while a port needs them', async () => {
    const layout = layoutOf('IPv4')
    const nftables = fakeLinux().openNftables()
    const ruleset = new Ruleset(layout, node)
    const start = new NftTransaction()
    replaceTable(ruleset.load([port(0, plain)]), start)
    await nftables.commit(start)
    const baseChains = async (changed: ServicePort) => {
      const transaction = new NftTransaction()
      ruleset.change([[changed.key, changed]], transaction)
      await nftables.commit(transaction)
      const chains = nftables.list(layout.table)!.chains.filter(({ base }) => base)
      return chains.map(({ name, base }) => `${base!.hook} ${name}`).sort()
    }
    const always = await baseChains(port(1, plain))
    expect(always).toHaveLength(5)
    const firewall = ['output filter-output-pre-dnat', 'prerouting filter-prerouting']
    const missing = ['forward no-endpoints-forward', 'input no-endpoints-input', 'output no-endpoints-output']
    const guarded = port(1, { ...plain, loadBalancer: true, ranges: true })
    expect(await baseChains(guarded)).toEqual([...always, ...firewall].sort())
    expect(await baseChains(port(2, { ...plain, endpoints: [] }))).toEqual([...always, ...firewall, ...missing].sort())
    expect(await baseChains(port(1, plain))).toEqual([...always, ...missing].sort())
    expect(await baseChains(port(2, plain))).toEqual(always)
  })

  test.each([false, true])('chains are there before anything leads to them (sticky: %s)', (affinity) => {
    const ruleset = new Ruleset(layoutOf('IPv4'), node)
    ruleset.load([port(0, { ...plain, affinity })])
    const [ahead, transaction, behind] = [new NftTransaction(), new NftTransaction(), new NftTransaction()]
    const changed = port(0, { ...plain, affinity, endpoints: [2, 3, 5, 7, 9] })
    ruleset.change([[changed.key, changed]], transaction, ahead, behind)
    const operations = (of: NftTransaction) => new Set(of.operations.map(({ op }) => op))
    expect(operations(ahead)).toContain('add-chain')
    expect(operations(ahead)).not.toContain('add-elements')
    expect(operations(transaction)).toContain('add-elements')
    expect(operations(transaction)).not.toContain('add-chain')
  })

  test('chains of the next sizes are there before they are needed, and stay until a restart', async () => {
    const layout = layoutOf('IPv4')
    const nftables = fakeLinux().openNftables()
    const ruleset = new Ruleset(layout, node)
    const ofSize = (size: number) => port(0, { ...plain, endpoints: Array.from({ length: size }, (_, i) => i + 2) })
    const start = new NftTransaction()
    replaceTable(ruleset.load([ofSize(3)]), start)
    await nftables.commit(start)
    const chainsOf = ({ operations }: NftTransaction, op: string) =>
      operations.flatMap((one) => (one.op === op && 'chain' in one ? [one.chain.name] : []))
    const changes = []
    for (const size of [4, 3, 8, 2, 3]) {
      const [ahead, transaction, behind] = [new NftTransaction(), new NftTransaction(), new NftTransaction()]
      ruleset.change([[ofSize(size).key, ofSize(size)]], transaction, ahead, behind)
      for (const step of [ahead, transaction, behind]) await nftables.commit(step)
      expect(transaction.operations.every(({ op }) => op.endsWith('-elements'))).toBe(true)
      changes.push([size, chainsOf(ahead, 'add-chain'), chainsOf(behind, 'add-chain')])
    }
    expect(changes).toEqual([
      [4, [], ['cluster-ip-5']],
      [3, [], []],
      [8, ['cluster-ip-8'], ['cluster-ip-7', 'cluster-ip-9']],
      [2, [], ['cluster-ip-1']],
      [3, [], []],
    ])
    const restart = new NftTransaction()
    const wanted = new Ruleset(layout, node).load([ofSize(3)])
    expect(appendDifference(nftables, wanted, nftables.list(layout.table)!, restart)).toBe(true)
    expect(chainsOf(restart, 'delete-chain').sort()).toEqual([1, 5, 7, 8, 9].map((size) => `cluster-ip-${size}`))
    expect(new Set(restart.operations.map(({ op }) => op))).toEqual(new Set(['flush-chain', 'delete-chain']))
  })

  test('a change of one endpoint is a few elements, whatever else there is', () => {
    const layout = layoutOf('IPv4')
    const ruleset = new Ruleset(layout, node)
    ruleset.load(Array.from({ length: 200 }, (_, i) => port(i, plain)))
    const changed = port(7, { ...plain, endpoints: [2, 5, 4] })
    const transaction = new NftTransaction()
    ruleset.change([[changed.key, changed]], transaction)
    expect(
      transaction.operations.map((operation) =>
        'elements' in operation ? `${operation.op} ${operation.set.name} ${operation.elements.length}` : operation.op,
      ),
    ).toEqual(['delete-elements endpoints 1', 'add-elements endpoints 1', 'add-elements hairpin 1'])
  })
})

describe('slots', () => {
  test.each<[number[], number[], number[]]>([
    [[], [1, 2, 3], [1, 2, 3]],
    [
      [1, 2, 3],
      [3, 2, 1],
      [1, 2, 3],
    ],
    [
      [1, 2, 3],
      [1, 3],
      [1, 3],
    ],
    [
      [1, 2, 3],
      [2, 3],
      [3, 2],
    ],
    [
      [1, 2, 3],
      [1, 4, 3],
      [1, 4, 3],
    ],
    [
      [1, 2],
      [2, 1, 3],
      [1, 2, 3],
    ],
    [[1, 2, 3], [], []],
  ])('%j then %j: %j', (previous, next, expected) => {
    expect(assignSlots(previous.map(endpoint), next.map(endpoint)).map(({ id }) => id)).toEqual(
      expected.map((i) => endpoint(i).id),
    )
  })
})

test('elements are compared without their comments', () => {
  const key = Buffer.from([1])
  expect(sameElement({ key, comment: 'a' }, { key })).toBe(true)
  expect(sameElement({ key, data: Buffer.from([1]) }, { key, data: Buffer.from([2]) })).toBe(false)
  const verdict = { verdict: 'goto', chain: 'a' } as const
  expect(sameElement({ key, verdict }, { key, verdict: { ...verdict, chain: 'b' } })).toBe(false)
})
