import { chainUsedBy, setUsedBy } from '../nft-expressions.ts'
import type { NftOperation } from '../nft-transaction.ts'
import type { NftChain, NftRule, NftSet, NftTable } from '../nftables.ts'
import { EBUSY, EEXIST, EINVAL, ENOENT, EOPNOTSUPP } from './errors.ts'
import { addElements, deleteElements } from './fake-nft-elements.ts'
import { graphProblem, leadsOn, needsHook, ruleProblem } from './fake-nft-rules.ts'
import { type FakeChain, type FakeRule, type FakeSet, FakeTable, tableKey, type UndoLog } from './fake-nft-table.ts'

export interface FakeRuleset {
  readonly tables: Map<string, FakeTable>
  nextHandle: bigint
}

const LONGEST_NAME = 255

/** Applies one operation; the errno of its refusal, or 0. What it changed before a refusal is in the undo log too. */
export function applyOperation(ruleset: FakeRuleset, operation: NftOperation, undo: UndoLog): number {
  switch (operation.op) {
    case 'add-table':
      return addTable(ruleset, operation.table, undo)
    case 'delete-table':
      if (!ruleset.tables.has(tableKey(operation.table))) return ENOENT
      undo.delete(ruleset.tables, tableKey(operation.table))
      return 0
    case 'add-chain':
      return withTable(ruleset, operation.chain.table, (table) => addChain(table, operation.chain, undo))
    case 'delete-chain':
      return withChain(ruleset, operation.chain, (table, chain) => deleteChain(table, chain, undo))
    case 'flush-chain':
      return withChain(ruleset, operation.chain, (table, chain) => keepRules(table, chain, () => false, undo))
    case 'add-rule':
    case 'insert-rule':
      return withChain(ruleset, operation.chain, (table, chain) =>
        addRule(ruleset, table, chain, operation.rule, operation.op === 'add-rule', undo),
      )
    case 'delete-rule':
      return withChain(ruleset, operation.chain, (table, chain) => {
        if (!chain.rules.some(({ handle }) => handle === operation.handle)) return ENOENT
        return keepRules(table, chain, ({ handle }) => handle !== operation.handle, undo)
      })
    case 'add-set':
      return withTable(ruleset, operation.set.table, (table) => addSet(table, operation.set, undo))
    case 'delete-set':
      return withSet(ruleset, operation.set, (table, found) => {
        if (found.uses > 0) return EBUSY
        deleteElements(table, found, [...found.elements.values()], undo)
        undo.delete(table.sets, found.set.name)
        return 0
      })
    case 'flush-set':
      return withSet(ruleset, operation.set, (table, found) =>
        deleteElements(table, found, [...found.elements.values()], undo),
      )
    case 'add-elements':
      return withSet(ruleset, operation.set, (table, found) => {
        const problem = addElements(table, found, operation.elements, undo)
        return problem || (found.uses > 0 && found.set.data === 'verdict' ? graphProblem(table) : 0)
      })
    case 'delete-elements':
      return withSet(ruleset, operation.set, (table, found) => deleteElements(table, found, operation.elements, undo))
  }
}

function withTable(ruleset: FakeRuleset, table: NftTable, work: (table: FakeTable) => number): number {
  const found = ruleset.tables.get(tableKey(table))
  return found ? work(found) : ENOENT
}

function withChain(
  ruleset: FakeRuleset,
  chain: NftChain,
  work: (table: FakeTable, chain: FakeChain) => number,
): number {
  return withTable(ruleset, chain.table, (table) => {
    const found = table.chains.get(chain.name)
    return found ? work(table, found) : ENOENT
  })
}

function withSet(ruleset: FakeRuleset, set: NftSet, work: (table: FakeTable, set: FakeSet) => number): number {
  return withTable(ruleset, set.table, (table) => {
    const found = table.sets.get(set.name)
    return found ? work(table, found) : ENOENT
  })
}

const isName = (name: string) => name.length > 0 && name.length <= LONGEST_NAME

function addTable(ruleset: FakeRuleset, table: NftTable, undo: UndoLog): number {
  if (!isName(table.name)) return EINVAL
  if (!ruleset.tables.has(tableKey(table))) undo.set(ruleset.tables, tableKey(table), new FakeTable(table))
  return 0
}

function addChain(table: FakeTable, { name, base }: NftChain, undo: UndoLog): number {
  if (!isName(name)) return EINVAL
  const existing = table.chains.get(name)
  if (!existing) {
    const filled = base && { base: { ...base, policy: base.policy ?? ('accept' as const) } }
    undo.set(table.chains, name, { name, ...filled, rules: [], uses: 0 })
    return 0
  }
  const same = !base || (existing.base?.hook === base.hook && existing.base.priority === base.priority)
  return same ? 0 : EOPNOTSUPP
}

function deleteChain(table: FakeTable, chain: FakeChain, undo: UndoLog): number {
  keepRules(table, chain, () => false, undo)
  if (chain.uses > 0) return EBUSY
  undo.delete(table.chains, chain.name)
  return 0
}

function addRule(
  ruleset: FakeRuleset,
  table: FakeTable,
  chain: FakeChain,
  rule: NftRule,
  atEnd: boolean,
  undo: UndoLog,
): number {
  const problem = ruleProblem(table, rule)
  if (problem) return problem
  const added: FakeRule = {
    ...rule,
    expressions: rule.expressions.map(listed),
    chain: chain.name,
    handle: ruleset.nextHandle++,
  }
  undo.rules(chain, atEnd ? [...chain.rules, added] : [added, ...chain.rules])
  countUses(table, added, 1, undo)
  return rule.expressions.some((e) => leadsOn(e) || needsHook(e)) ? graphProblem(table) : 0
}

/** As the kernel prints it: a counter shows what it has counted. */
function listed(expression: NftRule['expressions'][number]): NftRule['expressions'][number] {
  return expression.expr === 'counter' ? { packets: 0, bytes: 0, ...expression } : expression
}

function keepRules(table: FakeTable, chain: FakeChain, keep: (rule: FakeRule) => boolean, undo: UndoLog): 0 {
  const gone = chain.rules.filter((rule) => !keep(rule))
  if (gone.length > 0) undo.rules(chain, chain.rules.filter(keep))
  for (const rule of gone) countUses(table, rule, -1, undo)
  return 0
}

function countUses(table: FakeTable, rule: FakeRule, by: 1 | -1, undo: UndoLog): void {
  for (const expression of rule.expressions) {
    const chain = table.chains.get(chainUsedBy(expression) ?? '')
    const set = table.sets.get(setUsedBy(expression) ?? '')
    if (chain) undo.count(chain, by)
    if (set) undo.count(set, by)
  }
}

function addSet(table: FakeTable, set: NftSet, undo: UndoLog): number {
  if (!isName(set.name) || set.key.length === 0) return EINVAL
  const existing = table.sets.get(set.name)
  if (existing) return sameShape(existing.set, set) ? 0 : EEXIST
  undo.set(table.sets, set.name, { set, elements: new Map(), uses: 0, targets: new Map() })
  return 0
}

const sameShape = (a: NftSet, b: NftSet) =>
  String(a.key) === String(b.key) && String(a.data) === String(b.data) && a.interval === b.interval
