import { encodeValue } from '../linux/nft-values.ts'
import type { Nftables, NftBaseChain, NftRule, NftTable } from '../linux/nftables.ts'
import { TABLE_NAME } from './nftables/layout.ts'
import { PacketMachine, type PacketState, type TracedTable, type Verdict } from './nftables/packet-machine.ts'
import type { PacketTracer, TracedPacket, TraceOutcome } from './packet-tracer.ts'
import { PROTOCOL_NUMBERS } from './service-port.ts'

type Hook = NftBaseChain['hook']

interface LoadedTable extends TracedTable {
  /** By priority. */
  readonly baseChains: Readonly<Record<Hook, readonly string[]>>
}

/** Reads the rules of the service proxy once, from the kernel or the fake; `nodeIPs` are the node's own addresses. */
export function nftablesTracer(nftables: Nftables, nodeIPs: readonly string[], name = TABLE_NAME): PacketTracer {
  const tables = { ip: loadTable(nftables, 'ip', name), ip6: loadTable(nftables, 'ip6', name) }
  const local = new Set(nodeIPs.map((ip) => addressBytes(ip).toString('hex')))
  const isLocal = (address: Buffer) => local.has(address.toString('hex')) || isLoopback(address)
  return {
    trace(packet) {
      const table = tables[packet.destination.includes(':') ? 'ip6' : 'ip']
      return traceAll(table, packet, isLocal)
    },
  }
}

const addressBytes = (ip: string) => encodeValue(ip.includes(':') ? 'ipv6_addr' : 'ipv4_addr', ip)

const isLoopback = (address: Buffer) =>
  address.length === 4 ? address[0] === 127 : address.readBigUInt64BE(0) === 0n && address.readBigUInt64BE(8) === 1n

function loadTable(nftables: Nftables, family: 'ip' | 'ip6', name: string): LoadedTable {
  const table: NftTable = { family, name }
  const contents = nftables.list(table) ?? { chains: [], sets: [], rules: [] }
  const rules = new Map<string, NftRule[]>(contents.chains.map(({ name }) => [name, []]))
  for (const rule of contents.rules) rules.get(rule.chain)!.push(rule)
  const chainsAt = (hook: Hook) =>
    contents.chains
      .filter(({ base }) => base?.hook === hook)
      .sort((a, b) => a.base!.priority - b.base!.priority)
      .map(({ name }) => name)
  return {
    rules,
    sets: new Map(contents.sets.map((set) => [set.name, { set, elements: nftables.elements(set) }])),
    baseChains: {
      prerouting: chainsAt('prerouting'),
      input: chainsAt('input'),
      forward: chainsAt('forward'),
      output: chainsAt('output'),
      postrouting: chainsAt('postrouting'),
    },
  }
}

/** Once for each number that chance may give. */
function traceAll(table: LoadedTable, packet: TracedPacket, isLocal: (address: Buffer) => boolean): TraceOutcome {
  const endpoints = new Set<string>()
  const masqueraded = new Set<string>()
  const provenance = new Set<string>()
  let verdict: TraceOutcome['verdict'] = 'accept'
  let choices = 1
  for (let choice = 0; choice < choices; choice++) {
    const choose = (modulus: number) => {
      choices = modulus
      return choice
    }
    const options = { isLocal, choose, seen: (comment: string) => void provenance.add(comment) }
    const state = stateOf(packet)
    const result = traceOnce(table, state, packet.inputInterface === undefined, options)
    verdict = result === 'continue' ? (state.dnat ? 'endpoints' : 'accept') : (result as TraceOutcome['verdict'])
    if (verdict !== 'endpoints') continue
    const target = targetText(state)
    endpoints.add(target)
    if (state.masqueraded) masqueraded.add(target)
  }
  return {
    verdict,
    endpoints: [...endpoints].sort(),
    masqueraded: [...masqueraded].sort(),
    provenance: [...provenance],
  }
}

const stateOf = (packet: TracedPacket): PacketState => ({
  source: addressBytes(packet.source),
  destination: addressBytes(packet.destination),
  protocol: PROTOCOL_NUMBERS[packet.protocol],
  port: packet.port,
  mark: 0,
  inputInterface: packet.inputInterface ?? '',
  dnat: false,
  masqueraded: false,
})

function traceOnce(
  table: LoadedTable,
  state: PacketState,
  fromNode: boolean,
  options: ConstructorParameters<typeof PacketMachine>[2],
): Verdict {
  const at = (hook: Hook): Verdict => {
    for (const chain of table.baseChains[hook]) {
      const verdict = new PacketMachine(table, state, options).run(chain)
      if (verdict === 'drop' || verdict === 'reject') return verdict
    }
    return 'continue'
  }
  const first = at(fromNode ? 'output' : 'prerouting')
  if (first !== 'continue') return first
  // What the node sends to itself leaves by the loopback link and comes in again.
  if (options.isLocal(state.destination)) {
    if (fromNode) at('postrouting')
    return at('input')
  }
  const next = fromNode ? 'continue' : at('forward')
  return next === 'continue' ? at('postrouting') : next
}

function targetText({ destination, port }: PacketState): string {
  if (destination.length === 4) return `${[...destination].join('.')}:${port}`
  const groups = Array.from({ length: 8 }, (_, i) => destination.readUInt16BE(i * 2).toString(16))
  return `[${groups.join(':').replace(/(^|:)(0(:|$)){2,}/, '::')}]:${port}`
}
