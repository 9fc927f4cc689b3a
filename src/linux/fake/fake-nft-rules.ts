/** What the kernel checks when a rule comes in, and what it checks of the graph of chains. */
import { chainUsedBy, type NftExpression, type NftRegister, setUsedBy } from '../nft-expressions.ts'
import { lengthOf } from '../nft-values.ts'
import type { NftBaseChain, NftRule } from '../nftables.ts'
import { EINVAL, EMLINK, ENODATA, ENOENT, EOPNOTSUPP } from './errors.ts'
import type { FakeChain, FakeSet, FakeTable } from './fake-nft-table.ts'

/** How deep jumps may go. */
const DEEPEST_JUMP = 16
/** NFT_REG32_COUNT registers of four bytes. */
const REGISTERS = 16

/** The errno with which the kernel refuses the rule, or 0. */
export function ruleProblem(table: FakeTable, rule: NftRule): number {
  const written = new Set<NftRegister>()
  for (const expression of rule.expressions) {
    const problem = referenceProblem(table, expression)
    if (problem) return problem
    const { reads, writes } = registersOf(table, expression)
    for (const { register, bytes } of reads) {
      for (const word of wordsOf(register, bytes)) if (!written.has(word)) return ENODATA
    }
    for (const { register, bytes } of writes) {
      for (const word of wordsOf(register, bytes)) {
        if (word >= REGISTERS) return EINVAL
        written.add(word)
      }
    }
  }
  return 0
}

function referenceProblem(table: FakeTable, expression: NftExpression): number {
  const chain = chainUsedBy(expression)
  if (chain !== undefined) return targetProblem(table, chain)
  const setName = setUsedBy(expression)
  if (setName === undefined) return 0
  const found = table.sets.get(setName)
  if (!found) return ENOENT
  const { data, dynamic } = found.set
  if (expression.expr === 'verdict-map' && data !== 'verdict') return EINVAL
  if (expression.expr === 'map' && (!data || data === 'verdict')) return EINVAL
  if (expression.expr === 'set-update' && !dynamic) return EOPNOTSUPP
  return 0
}

/** Base chains are entered by the kernel only. */
export function targetProblem(table: FakeTable, chain: string): number {
  const target = table.chains.get(chain)
  if (!target) return ENOENT
  return target.base ? EOPNOTSUPP : 0
}

interface RegisterUse {
  readonly register: NftRegister
  readonly bytes: number
}

function* wordsOf(register: NftRegister, bytes: number): Generator<number> {
  for (let word = 0; word * 4 < bytes; word++) yield register + word
}

const META_BYTES: Partial<Record<string, number>> = { iifname: 16, oifname: 16 }

function registersOf(table: FakeTable, e: NftExpression): { reads: RegisterUse[]; writes: RegisterUse[] } {
  const reads: RegisterUse[] = []
  const writes: RegisterUse[] = []
  const set = setUsedBy(e) === undefined ? undefined : table.sets.get(setUsedBy(e)!)!.set
  switch (e.expr) {
    case 'payload':
      writes.push({ register: e.to, bytes: e.length })
      break
    case 'immediate':
      writes.push({ register: e.to, bytes: e.value.length })
      break
    case 'meta':
      writes.push({ register: e.to, bytes: META_BYTES[e.key] ?? 4 })
      break
    case 'ct':
    case 'fib-type':
    case 'number':
      writes.push({ register: e.to, bytes: 4 })
      break
    case 'meta-set':
    case 'ct-set':
      reads.push({ register: e.from, bytes: 4 })
      break
    case 'compare':
      reads.push({ register: e.from, bytes: e.value.length })
      break
    case 'bitwise':
      reads.push({ register: e.from, bytes: e.mask.length })
      writes.push({ register: e.to, bytes: e.mask.length })
      break
    case 'hash':
      reads.push({ register: e.from, bytes: e.length })
      writes.push({ register: e.to, bytes: 4 })
      break
    case 'lookup':
    case 'verdict-map':
    case 'map':
      reads.push({ register: e.from, bytes: lengthOf(set!.key) })
      if (e.expr === 'map' && set!.data !== 'verdict') writes.push({ register: e.to, bytes: lengthOf(set!.data!) })
      break
    case 'nat':
      reads.push({ register: e.address, bytes: e.family === 'ip' ? 4 : 16 })
      if (e.port !== undefined) reads.push({ register: e.port, bytes: 2 })
      break
    case 'redirect':
      if (e.port !== undefined) reads.push({ register: e.port, bytes: 2 })
      break
    case 'set-update':
      reads.push({ register: e.key, bytes: lengthOf(set!.key) })
      if (e.data !== undefined) reads.push({ register: e.data, bytes: lengthOf(set!.data as never) })
      break
  }
  return { reads, writes }
}

/** Whether an expression can lead to another chain, so that the graph must be looked at again. */
export const leadsOn = (expression: NftExpression) =>
  expression.expr === 'verdict-map' || chainUsedBy(expression) !== undefined

const NAT_HOOKS: Partial<Record<NftExpression['expr'], readonly NftBaseChain['hook'][]>> = {
  masquerade: ['postrouting'],
  redirect: ['prerouting', 'output'],
}

function hooksFor(expression: NftExpression): readonly NftBaseChain['hook'][] | undefined {
  if (expression.expr === 'nat') {
    return expression.type === 'source' ? ['postrouting', 'input'] : ['prerouting', 'output']
  }
  return NAT_HOOKS[expression.expr]
}

export const needsHook = (expression: NftExpression) => hooksFor(expression) !== undefined

/** Follows every way from the base chains: no loop, not too deep, and NAT only where it can work. */
export function graphProblem(table: FakeTable): number {
  for (const chain of table.chains.values()) {
    if (!chain.base) continue
    const problem = chainProblem(table, chain, chain.base, 0, new Map())
    if (problem) return problem
  }
  return 0
}

function chainProblem(
  table: FakeTable,
  chain: FakeChain,
  base: NftBaseChain,
  depth: number,
  seen: Map<string, number>,
): number {
  if (depth === DEEPEST_JUMP) return EMLINK
  if ((seen.get(chain.name) ?? -1) >= depth) return 0
  seen.set(chain.name, depth)
  for (const { expressions } of chain.rules) {
    for (const expression of expressions) {
      const hooks = hooksFor(expression)
      if (hooks && (base.type !== 'nat' || !hooks.includes(base.hook))) return EOPNOTSUPP
      for (const target of targetsOf(table, expression)) {
        const problem = chainProblem(table, table.chains.get(target)!, base, depth + 1, seen)
        if (problem) return problem
      }
    }
  }
  return 0
}

function targetsOf(table: FakeTable, expression: NftExpression): Iterable<string> {
  if (expression.expr === 'verdict-map') return (table.sets.get(expression.set) as FakeSet).targets.keys()
  const chain = chainUsedBy(expression)
  return chain === undefined ? [] : [chain]
}
