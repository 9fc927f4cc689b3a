import { loadRe2 } from '../../base/re2.ts'
import { CelCompileError, compileCel, kubernetesLibrary } from '../../cel/compile.ts'
import type { Expression } from '../../cel/expression.ts'
import { unescapeField } from '../../cel/field-names.ts'
import { Budget } from '../../cel/library.ts'
import { parse } from '../../cel/parser.ts'
import { type CelType, DYN, listOf, mapOf, objectOf, STRING } from '../../cel/types.ts'
import type { CelValue } from '../../cel/values.ts'
import type { UserInfo } from '../identity.ts'

export type Claims = Readonly<Record<string, unknown>>

/** An expression over the claims of a token, or over the user that they became. */
export interface ClaimExpression {
  readonly text: string
  evaluate(value: CelValue): CelValue
}

export interface ClaimCompiler {
  /** Throws a sentence that tells what is wrong. */
  compile(text: string, over: 'claims' | 'user', result: 'any' | 'bool'): ClaimExpression
  /** Whether it reads `claims.<field>`. */
  reads(text: string, field: string): boolean
}

const USER_FIELDS: Readonly<Record<string, CelType>> = {
  username: STRING,
  uid: STRING,
  groups: listOf(STRING),
  extra: mapOf(STRING, listOf(STRING)),
}
const VARIABLES: Readonly<Record<'claims' | 'user', CelType>> = {
  claims: mapOf(STRING, DYN),
  user: objectOf('kubernetes.UserInfo', (name) => (Object.hasOwn(USER_FIELDS, name) ? USER_FIELDS[name] : undefined)),
}
const BUDGET = 1_000_000

export async function loadClaimCompiler(): Promise<ClaimCompiler> {
  const library = kubernetesLibrary(await loadRe2())
  return {
    compile(text, over, result) {
      const program = attempt(() => compileCel(text, { variables: new Map([[over, VARIABLES[over]]]), library }))
      if (result !== 'any' && program.type.kind !== result) throw new Error(`must evaluate to ${result}`)
      return { text, evaluate: (value) => program.evaluate(new Map([[over, value]]), new Budget(BUDGET)) }
    },
    reads: (text, field) => readsClaim(parse(text), field),
  }
}

function attempt<T>(compile: () => T): T {
  try {
    return compile()
  } catch (error) {
    throw error instanceof CelCompileError ? new Error(`compilation failed: ${error.message}`) : error
  }
}

function readsClaim(node: unknown, field: string): boolean {
  if (typeof node !== 'object' || node === null) return false
  const { type, operand, field: read } = node as Partial<Extract<Expression, { type: 'select' }>>
  if (type === 'select' && read === field && operand?.type === 'identifier' && operand.name === 'claims') return true
  return Object.values(node).some((part) => readsClaim(part, field))
}

/** Fields may be asked for by the names that expressions have to use: `claims.my__dot__claim`. */
class NamedFields extends Map<CelValue, CelValue> {
  override get(key: CelValue): CelValue | undefined {
    return super.get(key) ?? (typeof key === 'string' ? super.get(unescapeField(key)) : undefined)
  }
}

export function claimsValue(value: unknown): CelValue {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value
  if (typeof value !== 'object' || value === null) return (value ?? null) as CelValue
  if (Array.isArray(value)) return value.map(claimsValue)
  return new NamedFields(Object.entries(value).map(([key, field]) => [key, claimsValue(field)]))
}

export const userValue = ({ name, uid = '', groups, extra = {} }: UserInfo): CelValue =>
  claimsValue({ username: name, uid, groups, extra })
