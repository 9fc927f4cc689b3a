/**
 * A profile becomes a search tree over the numbers of the calls: about nine comparisons whatever the call. Neighbours with
 * the same answer share a leaf, so that a default profile of 350 names is some 200 instructions.
 */
import type { SeccompAction, SeccompCondition, SeccompProfile, SeccompRule } from '../seccomp.ts'
import { type Architecture, syscallNumbers } from '../syscall-numbers.ts'
import { conditionCode } from './conditions.ts'
import { type Instruction, jump, load, RETURN, statement, writeProgram } from './instructions.ts'

const AUDIT_ARCH: Record<Architecture, number> = { x64: 0xc000003e, arm64: 0xc00000b7 }
const OFFSET_NUMBER = 0
const OFFSET_ARCH = 4
/** Numbers of the x32 ABI, which have this bit, are no calls of ours. */
const X32_BIT = 0x40000000
const JUMP_GREATER_EQUAL = 0x35
const JUMP_EQUAL = 0x15
const JUMP_ALWAYS = 0x05
const MAX_SHORT_JUMP = 255
const ENOSYS = 38

export function compileFilter(profile: SeccompProfile, architecture: Architecture): Buffer {
  const tree = searchTree(leavesOf(profile, architecture))
  const foreign = statement(RETURN, actionValue({ do: 'errno', value: ENOSYS }))
  return writeProgram([
    load(OFFSET_ARCH),
    jump(JUMP_EQUAL, AUDIT_ARCH[architecture], 1, 0),
    foreign,
    load(OFFSET_NUMBER),
    jump(JUMP_GREATER_EQUAL, X32_BIT, 0, 1),
    foreign,
    ...tree,
  ])
}

/** From this number on, up to the next leaf's. */
interface Leaf {
  readonly from: number
  readonly key: string
  readonly code: readonly Instruction[]
}

function leavesOf(profile: SeccompProfile, architecture: Architecture): Leaf[] {
  const numbers = syscallNumbers(architecture)
  const rules = new Map<number, SeccompRule[]>()
  for (const rule of profile.rules) {
    for (const name of rule.names) {
      const number = numbers.get(name)
      if (number === undefined) continue
      const known = rules.get(number)
      if (known) known.push(rule)
      else rules.set(number, [rule])
    }
  }
  const leaves: Leaf[] = []
  const add = (from: number, code: readonly Instruction[]) => {
    const key = JSON.stringify(code)
    if (leaves.at(-1)?.key !== key) leaves.push({ from, key, code })
  }
  const last = Math.max(0, ...rules.keys())
  for (let number = 0; number <= last + 1; number++)
    add(number, leafCode(rules.get(number) ?? [], profile.defaultAction))
  return leaves
}

function leafCode(rules: readonly SeccompRule[], fallback: SeccompAction): Instruction[] {
  const code: Instruction[] = []
  for (const { conditions, action } of rules) {
    code.push(...ruleCode(conditions, action))
    if (conditions.length === 0) return code
  }
  code.push(statement(RETURN, actionValue(fallback)))
  return code
}

function ruleCode(conditions: readonly SeccompCondition[], action: SeccompAction): Instruction[] {
  let code: Instruction[] = [statement(RETURN, actionValue(action))]
  // From the last condition to the first, so that each knows how far the end of the rule is.
  for (const condition of [...conditions].reverse()) code = [...conditionCode(condition, code.length), ...code]
  return code
}

function searchTree(leaves: readonly Leaf[]): Instruction[] {
  if (leaves.length === 1) return [...leaves[0]!.code]
  const middle = leaves.length >> 1
  const below = searchTree(leaves.slice(0, middle))
  const above = searchTree(leaves.slice(middle))
  const { from } = leaves[middle]!
  if (below.length <= MAX_SHORT_JUMP) return [jump(JUMP_GREATER_EQUAL, from, below.length, 0), ...below, ...above]
  return [jump(JUMP_GREATER_EQUAL, from, 0, 1), statement(JUMP_ALWAYS, below.length), ...below, ...above]
}

export function actionValue(action: SeccompAction): number {
  switch (action.do) {
    case 'allow':
      return 0x7fff0000
    case 'log':
      return 0x7ffc0000
    case 'trace':
      return 0x7ff00000 | action.value
    case 'errno':
      return 0x00050000 | action.value
    case 'trap':
      return 0x00030000
    case 'kill-thread':
      return 0
    case 'kill-process':
      return 0x80000000
  }
}
