import type { SeccompAction, SeccompCondition, SeccompOperator, SeccompProfile, SeccompRule } from '../seccomp.ts'
import type { Architecture } from '../syscall-numbers.ts'

const EPERM = 1
const ARCHITECTURES: Record<Architecture, readonly string[]> = { x64: ['amd64', 'x86_64'], arm64: ['arm64', 'aarch64'] }

const OPERATORS: Readonly<Record<string, SeccompOperator>> = {
  SCMP_CMP_EQ: 'eq',
  SCMP_CMP_NE: 'ne',
  SCMP_CMP_LT: 'lt',
  SCMP_CMP_LE: 'le',
  SCMP_CMP_GT: 'gt',
  SCMP_CMP_GE: 'ge',
  SCMP_CMP_MASKED_EQ: 'masked-eq',
}

interface Filter {
  readonly caps?: readonly string[]
  readonly arches?: readonly string[]
}

interface JsonRule {
  readonly name?: string
  readonly names?: readonly string[]
  readonly action: string
  readonly errnoRet?: number
  readonly args?: readonly { index: number; value: number; valueTwo?: number; op: string }[] | null
  readonly includes?: Filter
  readonly excludes?: Filter
}

interface JsonProfile {
  readonly defaultAction?: string
  readonly defaultErrnoRet?: number
  readonly syscalls?: readonly JsonRule[] | null
}

export function parseProfile(
  json: string,
  capabilities: ReadonlySet<string>,
  architecture: Architecture,
): SeccompProfile {
  const profile = readJson(json)
  if (typeof profile.defaultAction !== 'string') throw new Error('seccomp profile: defaultAction is missing')
  const matches = (filter: Filter) =>
    (filter.caps ?? []).every((name) => capabilities.has(name.replace(/^CAP_/, ''))) &&
    (filter.arches === undefined || filter.arches.some((name) => ARCHITECTURES[architecture].includes(name)))
  const excluded = (filter: Filter) =>
    (filter.caps ?? []).some((name) => capabilities.has(name.replace(/^CAP_/, ''))) ||
    (filter.arches ?? []).some((name) => ARCHITECTURES[architecture].includes(name))
  const rules = (profile.syscalls ?? [])
    .filter((rule) => matches(rule.includes ?? {}) && !excluded(rule.excludes ?? {}))
    .map((rule) => ruleOf(rule, profile.defaultErrnoRet))
  return { defaultAction: actionOf(profile.defaultAction, profile.defaultErrnoRet), rules: conditionalFirst(rules) }
}

function readJson(json: string): JsonProfile {
  let profile: unknown
  try {
    profile = JSON.parse(json)
  } catch (error) {
    throw new Error(`seccomp profile: ${(error as Error).message}`)
  }
  if (typeof profile !== 'object' || profile === null) throw new Error('seccomp profile: not an object')
  return profile as JsonProfile
}

/** A rule with conditions is narrower than one without. */
function conditionalFirst(rules: readonly SeccompRule[]): SeccompRule[] {
  return [...rules].sort((a, b) => Number(a.conditions.length === 0) - Number(b.conditions.length === 0))
}

function ruleOf(rule: JsonRule, errno: number | undefined): SeccompRule {
  return {
    names: rule.names ?? (rule.name === undefined ? [] : [rule.name]),
    action: actionOf(rule.action, rule.errnoRet ?? errno),
    conditions: (rule.args ?? []).map(conditionOf),
  }
}

function conditionOf(arg: { index: number; value: number; valueTwo?: number; op: string }): SeccompCondition {
  const op = OPERATORS[arg.op]
  if (op === undefined) throw new Error(`seccomp profile: unknown operator ${arg.op}`)
  if (!(arg.index >= 0 && arg.index <= 5)) throw new Error(`seccomp profile: no argument ${arg.index}`)
  const word = (value: number | undefined) => BigInt.asUintN(64, BigInt(value ?? 0))
  return { index: arg.index, op, value: word(arg.value), valueTwo: word(arg.valueTwo) }
}

function actionOf(name: string, errno = EPERM): SeccompAction {
  switch (name) {
    case 'SCMP_ACT_ALLOW':
      return { do: 'allow' }
    case 'SCMP_ACT_LOG':
      return { do: 'log' }
    case 'SCMP_ACT_TRAP':
      return { do: 'trap' }
    case 'SCMP_ACT_KILL':
    case 'SCMP_ACT_KILL_THREAD':
      return { do: 'kill-thread' }
    case 'SCMP_ACT_KILL_PROCESS':
      return { do: 'kill-process' }
    case 'SCMP_ACT_ERRNO':
      return { do: 'errno', value: errno }
    case 'SCMP_ACT_TRACE':
      return { do: 'trace', value: errno }
    default:
      throw new Error(`seccomp profile: unknown action ${name}`)
  }
}
