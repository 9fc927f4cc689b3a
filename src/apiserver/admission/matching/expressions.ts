import { loadRe2 } from '../../../base/re2.ts'
import { CelCompileError, type CompiledCel, compileCel, kubernetesLibrary } from '../../cel/compile.ts'
import { Budget, type Functions, type Library } from '../../cel/library.ts'
import { BOOL, type CelType, DYN, listOf, mapOf, objectOf, STRING } from '../../cel/types.ts'
import { CelBudgetError, CelError, type CelValue } from '../../cel/values.ts'
import { AUTHORIZER_TYPE, authorizerFunctions, DecisionPending } from './authorizer-functions.ts'

const record = (name: string, fields: Readonly<Record<string, CelType>>) =>
  objectOf(name, (field) => (Object.hasOwn(fields, field) ? fields[field] : undefined))

const KIND = record('kubernetes.GroupVersionKind', { group: STRING, version: STRING, kind: STRING })
const RESOURCE = record('kubernetes.GroupVersionResource', { group: STRING, version: STRING, resource: STRING })
const USER = record('kubernetes.UserInfo', {
  username: STRING,
  uid: STRING,
  groups: listOf(STRING),
  extra: mapOf(STRING, listOf(STRING)),
})
const REQUEST = record('kubernetes.AdmissionRequest', {
  kind: KIND,
  resource: RESOURCE,
  subResource: STRING,
  requestKind: KIND,
  requestResource: RESOURCE,
  requestSubResource: STRING,
  name: STRING,
  namespace: STRING,
  operation: STRING,
  userInfo: USER,
  dryRun: BOOL,
  options: DYN,
})
const RESOURCE_CHECK: CelType = { kind: 'kubernetes.authorization.ResourceCheck', params: [] }
const AUTHORIZER = record(AUTHORIZER_TYPE, { requestResource: RESOURCE_CHECK })

export type VariableTypes = ReadonlyMap<string, CelType>

/** What conditions of webhooks can speak of. */
export const CONDITION_VARIABLES: VariableTypes = new Map<string, CelType>([
  ['object', DYN],
  ['oldObject', DYN],
  ['request', REQUEST],
  ['authorizer', AUTHORIZER],
])

/** What policies can speak of besides. */
export const POLICY_VARIABLES: VariableTypes = new Map<string, CelType>([
  ...CONDITION_VARIABLES,
  ['namespaceObject', DYN],
  ['params', DYN],
])

/** Compiles expressions of webhooks and policies. Loaded when the first of them needs it. */
export class Expressions {
  readonly #library: Library

  constructor(library: Library) {
    this.#library = library
  }

  /** Throws `CelCompileError`: `wanted` are the types that it may have. */
  compile(
    text: string,
    variables: VariableTypes,
    wanted: readonly string[],
    objects?: (name: string) => CelType | undefined,
  ): CompiledCel {
    let program: CompiledCel
    try {
      program = compileCel(text, { variables, library: this.#library, ...(objects && { objects }) })
    } catch (error) {
      if (error instanceof CelCompileError) throw new CelCompileError(`compilation failed: ${error.message}`)
      throw error
    }
    const { kind } = program.type
    if (wanted.length === 0 || kind === 'dyn' || wanted.includes(kind)) return program
    const names = wanted.map((name) => (name === 'null' ? 'null_type' : name))
    throw new CelCompileError(
      names.length === 1 ? `must evaluate to ${names[0]}` : `must evaluate to one of the types: ${names.join(', ')}`,
    )
  }
}

export async function loadExpressions(more: readonly Functions[] = []): Promise<Expressions> {
  return new Expressions(kubernetesLibrary(await loadRe2(), [authorizerFunctions, ...more]))
}

/** What one expression may cost, in steps. */
const CALL_COST = 1_000_000

/** Runs expressions for one request until together they cost too much. */
export class CostLimit {
  #left: number

  constructor(units: number) {
    this.#left = units
  }

  /** Throws `CelError`. Waits for authorizers where it has to. */
  async evaluate(program: CompiledCel, values: { get(name: string): CelValue | undefined }): Promise<CelValue> {
    for (;;) {
      const limit = Math.min(CALL_COST, this.#left)
      const budget = new Budget(limit)
      try {
        if (limit <= 0) throw new CelBudgetError('running out of cost budget, no further validation rules will be run')
        return program.evaluate(values, budget)
      } catch (error) {
        if (!(error instanceof DecisionPending)) throw error
        await error.decision
      } finally {
        this.#left -= limit - Math.max(budget.left, 0)
      }
    }
  }
}

export const isCelFailure = (error: unknown): error is Error =>
  error instanceof CelError || error instanceof CelCompileError
