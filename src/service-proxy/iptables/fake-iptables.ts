/** iptables in memory, as strict as the real one: references, missing rules, all or nothing for each table. */
import type { IPFamily } from '../../base/ip-address.ts'
import { type IptablesCommands, IptablesError } from './iptables-commands.ts'
import { parseSaved } from './saved-rules.ts'

type Chains = Map<string, string[]>

const BUILT_IN: Readonly<Record<string, readonly string[]>> = {
  mangle: ['PREROUTING', 'INPUT', 'FORWARD', 'OUTPUT', 'POSTROUTING'],
  filter: ['INPUT', 'FORWARD', 'OUTPUT'],
  nat: ['PREROUTING', 'INPUT', 'OUTPUT', 'POSTROUTING'],
}
const TARGETS = new Set(['ACCEPT', 'DROP', 'RETURN', 'REJECT', 'MARK', 'MASQUERADE', 'DNAT'])

export interface FakeIptables extends IptablesCommands {
  /** All texts that were given to restore. */
  readonly restored: readonly string[]
  flush(family: IPFamily): void
}

const emptyTables = () =>
  new Map(
    Object.entries(BUILT_IN).map(([name, chains]) => [name, new Map(chains.map((chain) => [chain, []])) as Chains]),
  )

export function fakeIptables(): FakeIptables {
  const families = { IPv4: emptyTables(), IPv6: emptyTables() }
  const restored: string[] = []
  return {
    restored,
    unsupported: () => undefined,
    async restore(family, text) {
      if (text === '') return
      restored.push(text)
      for (const part of text.split('COMMIT\n')) if (part !== '') restoreTable(families[family], part)
    },
    save: async (family) => saveText(families[family]),
    hasChain: async (family, table, chain) => families[family].get(table)?.has(chain) ?? false,
    fingerprint: (family) => saveText(families[family]),
    flush(family) {
      families[family] = emptyTables()
    },
  }
}

const saveText = (tables: ReadonlyMap<string, Chains>) =>
  [...tables].map(([name, chains]) => `*${name}\n${chainsText(chains)}COMMIT\n`).join('')

function chainsText(chains: Chains): string {
  const names = [...chains.keys()].map((name) => `:${name} - [0:0]\n`)
  const rules = [...chains].flatMap(([name, list]) => list.map((rule) => `-A ${name} ${rule}\n`))
  return [...names, ...rules].join('')
}

function restoreTable(tables: Map<string, Chains>, part: string): void {
  const [header, ...lines] = part.trimEnd().split('\n') as [string, ...string[]]
  const name = header.slice(1)
  const known = tables.get(name)
  if (!header.startsWith('*') || !known) throw new IptablesError(`no table in ${header}`)
  const chains: Chains = new Map([...known].map(([chain, rules]) => [chain, [...rules]]))
  for (const line of lines) applyLine(chains, line)
  tables.set(name, chains)
}

function applyLine(chains: Chains, line: string): void {
  if (line.startsWith(':')) {
    chains.set(line.slice(1, line.indexOf(' ')), [])
    return
  }
  const [, op, name, rest = ''] = /^-([AIDX]) (\S+) ?(.*)$/.exec(line) ?? []
  const rules = chains.get(name!)
  if (!rules) throw new IptablesError(`no chain for ${line}`)
  if (op === 'X') removeChain(chains, name!, rules)
  else if (op === 'D') removeRule(rules, rest, line)
  else addRule(chains, rules, op === 'I' ? rest.replace(/^1 /, '') : rest, op === 'I')
}

function addRule(chains: Chains, rules: string[], rule: string, isFirst: boolean): void {
  const target = / -j (\S+)/.exec(` ${rule}`)?.[1]
  if (target !== undefined && !TARGETS.has(target) && !chains.has(target)) throw new IptablesError(`no target: ${rule}`)
  if (isFirst) rules.unshift(rule)
  else rules.push(rule)
}

function removeRule(rules: string[], rule: string, line: string): void {
  const at = rules.indexOf(rule)
  if (at < 0) throw new IptablesError(`no such rule: ${line}`)
  rules.splice(at, 1)
}

function removeChain(chains: Chains, name: string, rules: readonly string[]): void {
  const isUsed = [...chains.values()].some((list) => list.some((rule) => ` ${rule} `.includes(` -j ${name} `)))
  if (rules.length > 0 || isUsed) throw new IptablesError(`chain ${name} is in use`)
  chains.delete(name)
}

/** For tests: the rules of one chain. */
export const rulesOf = async (commands: IptablesCommands, family: IPFamily, table: string, chain: string) =>
  parseSaved(await commands.save(family))
    .get(table)
    ?.get(chain)
