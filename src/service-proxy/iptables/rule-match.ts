/** One rule as words, and whether a packet matches it. */
import { cidrContains, parseCIDR, parseIP } from '../../base/ip-address.ts'

export interface PacketState {
  readonly source: string
  destination: string
  readonly protocol: string
  port: number
  readonly inputInterface: string
  mark: number
  dnat: boolean
  masqueraded: boolean
}

export interface MatchContext {
  isLocal(address: string): boolean
  /** Whether chance takes this rule. */
  chance(): boolean
}

export interface ParsedRule {
  readonly options: readonly RuleOption[]
  readonly target: string | undefined
  readonly comment: string | undefined
}

export interface RuleOption {
  readonly name: string
  readonly value: string
  readonly isNot: boolean
}

/** Options without a value. */
const FLAGS = new Set(['--rcheck', '--reap', '--set', '--random-fully', '--rsource'])

/** What is in quotes is one word. Without a regular expression: all rules of a node are read at once. */
function wordsOf(text: string): string[] {
  const words: string[] = []
  for (let at = 0; at < text.length; ) {
    if (text[at] === ' ') {
      at++
      continue
    }
    const start = text[at] === '"' ? at + 1 : at
    const end = text.indexOf(start > at ? '"' : ' ', start)
    const stop = end < 0 ? text.length : end
    words.push(text.slice(start, stop))
    at = stop + 1
  }
  return words
}

export function parseRule(text: string): ParsedRule {
  const words = wordsOf(text)
  const options: RuleOption[] = []
  let isNot = false
  for (let i = 0; i < words.length; i++) {
    const name = words[i]!
    if (name === '!') {
      isNot = true
      continue
    }
    options.push({ name, value: FLAGS.has(name) ? '' : words[++i]!, isNot })
    isNot = false
  }
  const wordOf = (name: string) => options.find((option) => option.name === name)?.value
  return { options, target: wordOf('-j'), comment: wordOf('--comment') }
}

type Matcher = (state: PacketState, value: string, context: MatchContext) => boolean

const MATCHERS: Readonly<Record<string, Matcher>> = {
  '-p': (state, value) => state.protocol === value,
  '-s': (state, value) => isWithin(state.source, value),
  '-d': (state, value) => isWithin(state.destination, value),
  '-i': (state, value) =>
    value.endsWith('+') ? state.inputInterface.startsWith(value.slice(0, -1)) : state.inputInterface === value,
  '--dport': (state, value) => state.port === Number(value),
  '--dst-type': (state, _, context) => context.isLocal(state.destination),
  '--src-type': (state, _, context) => context.isLocal(state.source),
  '--mark': (state, value) => {
    const [wanted, mask] = value.split('/').map(Number) as [number, number]
    return (state.mark & mask) === wanted
  },
  // The first packet of a connection, of a client that was never seen.
  '--ctstate': (_, value) => value === 'NEW',
  '--rcheck': () => false,
  '--probability': (_, __, context) => context.chance(),
}

/** Chance is asked last: it counts only the rules that everything else matches. */
export function matches({ options }: ParsedRule, state: PacketState, context: MatchContext): boolean {
  const inOrder = [...options].sort((a, b) => Number(a.name === '--probability') - Number(b.name === '--probability'))
  return inOrder.every(({ name, value, isNot }) => {
    const matcher = MATCHERS[name]
    return matcher === undefined || matcher(state, value, context) !== isNot
  })
}

function isWithin(ip: string, range: string): boolean {
  const address = parseIP(ip)!
  const cidr = parseCIDR(range)
  if (cidr) return cidr.family === address.family && cidrContains(cidr, address)
  const one = parseIP(range)
  return one?.family === address.family && one.value === address.value
}
