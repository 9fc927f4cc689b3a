import { loadRe2 } from '../../../base/re2.ts'
import {
  CelCompileError,
  type CelVariables,
  type CompiledCel,
  compileCel,
  kubernetesLibrary,
} from '../../../cel/compile.ts'
import { Budget, type Functions, type Library } from '../../../cel/library.ts'
import { BOOL, type CelType, DYN, listOf, mapOf, objectOf, STRING } from '../../../cel/types.ts'
import { CelBudgetError, CelError, type CelValue } from '../../../cel/values.ts'
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

/** A key as it stands in a JSON pointer. */
const pointers: Functions = {
  'jsonpatch.escapeKey(string): string': (key: string) => key.replaceAll('~', '~0').replaceAll('/', '~1'),
}

let loaded: Promise<Expressions> | undefined

/** The engine, made once. */
export function loadExpressions(): Promise<Expressions> {
  loaded ??= loadRe2().then((re2) => new Expressions(kubernetesLibrary(re2, [authorizerFunctions, pointers])))
  return loaded
}

/** What one expression may cost, in steps. */
const CALL_COST = 1_000_000

/** Runs expressions for one request until together they cost too much. */
export class CostLimit {
  #left: number

  constructor(units: number) {
    this.#left = units
  }

  /** Throws `CelError`, or `DecisionPending`. */
  run(program: CompiledCel, values: CelVariables): CelValue {
    const limit = Math.min(CALL_COST, this.#left)
    if (limit <= 0) throw new CelBudgetError('running out of cost budget, no further validation rules will be run')
    const budget = new Budget(limit)
    try {
      return program.evaluate(values, budget)
    } finally {
      this.#left -= limit - Math.max(budget.left, 0)
    }
  }

  /** Throws `CelError`. Waits for authorizers where it has to. */
  async evaluate(program: CompiledCel, values: CelVariables): Promise<CelValue> {
    for (;;) {
      try {
        return this.run(program, values)
      } catch (error) {
        if (!(error instanceof DecisionPending)) throw error
        await error.decision
      }
    }
  }
}

export const isCelFailure = (error: unknown): error is Error =>
  error instanceof CelError || error instanceof CelCompileError
