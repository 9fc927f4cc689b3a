/** Follows packets through what `iptables-save` prints. */
import type { IPFamily } from '../../base/ip-address.ts'
import type { PacketTracer, TracedPacket, TraceOutcome } from '../packet-tracer.ts'
import { matches, type PacketState, type ParsedRule, parseRule } from './rule-match.ts'
import { parseSaved } from './saved-rules.ts'

type Verdict = 'continue' | 'accept' | 'drop' | 'reject'
type Chains = ReadonlyMap<string, readonly ParsedRule[]>

interface Tables {
  readonly nat: Chains
  readonly filter: Chains
}

interface Walk {
  readonly tables: Tables
  readonly state: PacketState
  readonly isLocal: (ip: string) => boolean
  readonly seen: Set<string>
  /** Which of the rules that depend on chance is taken. */
  readonly choice: number
  asked: number
}

export function iptablesTracer(saved: Readonly<Record<IPFamily, string>>, nodeIPs: readonly string[]): PacketTracer {
  const families = { IPv4: tablesOf(saved.IPv4), IPv6: tablesOf(saved.IPv6) }
  const isLocal = (ip: string) => nodeIPs.includes(ip) || ip.startsWith('127.') || ip === '::1'
  return {
    trace: (packet) => traceAll(families[packet.destination.includes(':') ? 'IPv6' : 'IPv4'], packet, isLocal),
  }
}

function tablesOf(text: string): Tables {
  const saved = parseSaved(text)
  const parsed = (table: string): Chains =>
    new Map([...(saved.get(table) ?? [])].map(([chain, rules]) => [chain, rules.map(parseRule)]))
  return { nat: parsed('nat'), filter: parsed('filter') }
}

/** Once for each rule that chance may take, and once with none of them. */
function traceAll(tables: Tables, packet: TracedPacket, isLocal: (ip: string) => boolean): TraceOutcome {
  const endpoints = new Set<string>()
  const masqueraded = new Set<string>()
  const seen = new Set<string>()
  let verdict: TraceOutcome['verdict'] = 'accept'
  for (let choice = 0, isLast = false; !isLast; choice++) {
    const walk: Walk = { tables, state: stateOf(packet), isLocal, seen, choice, asked: 0 }
    const result = traceOnce(walk, packet.inputInterface === undefined)
    isLast = walk.asked <= choice
    const { state } = walk
    verdict = result === 'drop' || result === 'reject' ? result : state.dnat ? 'endpoints' : 'accept'
    if (verdict !== 'endpoints') continue
    const target = state.destination.includes(':')
      ? `[${state.destination}]:${state.port}`
      : `${state.destination}:${state.port}`
    endpoints.add(target)
    if (state.masqueraded) masqueraded.add(target)
  }
  return {
    verdict,
    endpoints: [...endpoints].sort(),
    masqueraded: [...masqueraded].sort(),
    provenance: [...seen],
  }
}

const stateOf = (packet: TracedPacket): PacketState => ({
  source: packet.source,
  destination: packet.destination,
  protocol: packet.protocol.toLowerCase(),
  port: packet.port,
  inputInterface: packet.inputInterface ?? '',
  mark: 0,
  dnat: false,
  masqueraded: false,
})

function traceOnce(walk: Walk, fromNode: boolean): Verdict {
  const nat = (hook: string) => runChain(walk, walk.tables.nat, hook)
  const filter = (hook: string) => runChain(walk, walk.tables.filter, hook)
  const isEnd = (verdict: Verdict) => verdict === 'drop' || verdict === 'reject'
  nat(fromNode ? 'OUTPUT' : 'PREROUTING')
  if (fromNode) {
    const verdict = filter('OUTPUT')
    if (isEnd(verdict)) return verdict
  }
  const isForNode = walk.isLocal(walk.state.destination)
  const verdict = isForNode ? filter('INPUT') : fromNode ? 'continue' : filter('FORWARD')
  if (isEnd(verdict)) return verdict
  if (fromNode || !isForNode) nat('POSTROUTING')
  return 'continue'
}

function runChain(walk: Walk, chains: Chains, name: string): Verdict {
  const context = { isLocal: walk.isLocal, chance: () => walk.asked++ === walk.choice }
  for (const rule of chains.get(name) ?? []) {
    if (!matches(rule, walk.state, context)) continue
    if (rule.comment !== undefined) walk.seen.add(rule.comment)
    if (rule.target === 'RETURN') return 'continue'
    const verdict = rule.target === undefined ? 'continue' : runTarget(walk, chains, rule)
    if (verdict !== 'continue') return verdict
  }
  return 'continue'
}

function runTarget(walk: Walk, chains: Chains, { target, options }: ParsedRule): Verdict {
  const { state } = walk
  const wordOf = (name: string) => options.find((option) => option.name === name)?.value
  switch (target) {
    case 'ACCEPT':
      return 'accept'
    case 'DROP':
      return 'drop'
    case 'REJECT':
      return 'reject'
    case 'MARK':
      if (wordOf('--or-mark') !== undefined) state.mark |= Number(wordOf('--or-mark'))
      else state.mark ^= Number(wordOf('--xor-mark'))
      return 'continue'
    case 'MASQUERADE':
      state.masqueraded = true
      return 'accept'
    case 'DNAT':
      dnat(state, wordOf('--to-destination')!)
      return 'accept'
    default:
      return runChain(walk, chains, target!)
  }
}

function dnat(state: PacketState, target: string): void {
  const at = target.lastIndexOf(':')
  state.destination = target.slice(0, at).replace(/^\[|\]$/g, '')
  state.port = Number(target.slice(at + 1))
  state.dnat = true
}
