/** What is to be done so that the kernel holds what a ruleset wants, whatever it holds now. */
import type { NftTransaction } from '../../linux/nft-transaction.ts'
import type {
  Nftables,
  NftChain,
  NftElement,
  NftRule,
  NftSet,
  NftTable,
  NftTableContents,
} from '../../linux/nftables.ts'
import { keyText, sameElement } from './element-changes.ts'
import type { RulesetContents } from './ruleset.ts'
import type { RenderedChain } from './skeleton.ts'

/**
 * Appends the smallest change that repairs the table: nothing if all is right. Returns false if only a new table helps
 * (`replaceTable`), because a base chain or the shape of a set is another one. New chains may be made `ahead`, as in
 * `Ruleset.change`.
 */
export function appendDifference(
  nftables: Nftables,
  wanted: RulesetContents,
  actual: NftTableContents,
  transaction: NftTransaction,
  ahead = transaction,
): boolean {
  const { table } = wanted
  const sets = new Map(actual.sets.map((set) => [set.name, set]))
  const chains = new Map(actual.chains.map((chain) => [chain.name, chain]))
  if (!wanted.sets.every((set) => fits(sets.get(set.name), set))) return false
  if (!wanted.chains.every((chain) => fitsBase(chains.get(chain.name), chain))) return false
  const names = new Set(wanted.chains.map(({ name }) => name))
  const extraChains = actual.chains.filter(({ name }) => !names.has(name))
  const setNames = new Set(wanted.sets.map(({ name }) => name))
  const extraSets = actual.sets.filter(({ name }) => !setNames.has(name))

  for (const set of wanted.sets) if (!sets.has(set.name)) ahead.addSet(set)
  for (const chain of wanted.chains) if (!chains.has(chain.name)) ahead.addChain(chainOf(table, chain))
  const rules = rulesByChain(actual)
  for (const chain of wanted.chains) {
    if (sameRules(rules.get(chain.name) ?? [], chain.rules)) continue
    const isNew = !chains.has(chain.name)
    if (!isNew) transaction.flushChain({ table, name: chain.name })
    for (const rule of chain.rules) (isNew ? ahead : transaction).addRule({ table, name: chain.name }, rule)
  }
  appendElements(nftables, wanted, sets, transaction)
  for (const { name } of extraChains) transaction.flushChain({ table, name })
  for (const set of extraSets) transaction.deleteSet(set)
  for (const { name } of extraChains) transaction.deleteChain({ table, name })
  return true
}

/** The whole table anew, in place of what is there. */
export function replaceTable(wanted: RulesetContents, transaction: NftTransaction): void {
  const { table, sets, chains, elements } = wanted
  transaction.destroyTable(table).addTable(table)
  for (const set of sets) transaction.addSet(set)
  for (const chain of chains) transaction.addChain(chainOf(table, chain))
  for (const chain of chains) for (const rule of chain.rules) transaction.addRule({ table, name: chain.name }, rule)
  for (const [set, list] of elements) if (!set.dynamic) transaction.addElements(set, list)
}

const chainOf = (table: NftTable, { name, base }: RenderedChain): NftChain => ({
  table,
  name,
  ...(base && { base }),
})

const fits = (actual: NftSet | undefined, wanted: NftSet) =>
  !actual ||
  (String(actual.key) === String(wanted.key) &&
    String(actual.data) === String(wanted.data) &&
    Boolean(actual.interval) === Boolean(wanted.interval) &&
    Boolean(actual.dynamic) === Boolean(wanted.dynamic) &&
    actual.timeoutMs === wanted.timeoutMs)

const fitsBase = (actual: NftChain | undefined, { base }: RenderedChain) =>
  !actual ||
  (actual.base?.type === base?.type &&
    actual.base?.hook === base?.hook &&
    actual.base?.priority === base?.priority &&
    actual.base?.policy === base?.policy)

function rulesByChain({ rules }: NftTableContents): Map<string, NftRule[]> {
  const byChain = new Map<string, NftRule[]>()
  for (const rule of rules) {
    const known = byChain.get(rule.chain)
    if (known) known.push(rule)
    else byChain.set(rule.chain, [rule])
  }
  return byChain
}

const sameRules = (actual: readonly NftRule[], wanted: readonly NftRule[]) =>
  actual.length === wanted.length && actual.every((rule, i) => ruleText(rule) === ruleText(wanted[i]!))

/** Field names in order, so that equal rules have equal texts. */
export const ruleText = ({ expressions }: NftRule) =>
  expressions
    .map((expression) =>
      Object.entries(expression)
        .filter(([, value]) => value !== undefined && value !== false)
        .map(([name, value]) => `${name}=${value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value}`)
        .sort()
        .join(' '),
    )
    .join('; ')

function appendElements(
  nftables: Nftables,
  wanted: RulesetContents,
  actualSets: ReadonlyMap<string, NftSet>,
  transaction: NftTransaction,
): void {
  const additions: [NftSet, readonly NftElement[]][] = []
  for (const [set, elements] of wanted.elements) {
    if (set.dynamic) continue
    const actual = actualSets.has(set.name) ? nftables.elements(set) : []
    if (actual.length === 0) {
      additions.push([set, elements])
      continue
    }
    const missing = new Map(elements.map((element) => [keyText(element), element]))
    const gone: NftElement[] = []
    for (const element of actual) {
      const key = keyText(element)
      const same = missing.get(key)
      if (same && sameElement(same, element)) missing.delete(key)
      else gone.push(set.interval && set.key.length > 1 ? { keyEnd: element.key, ...element } : element)
    }
    transaction.deleteElements(set, gone)
    additions.push([set, [...missing.values()]])
  }
  for (const [set, added] of additions) transaction.addElements(set, added)
}
