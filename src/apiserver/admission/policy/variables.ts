import type { Variable } from '../../../api/generated/admissionregistration-v1.ts'
import type { CelVariables, CompiledCel } from '../../../cel/compile.ts'
import { type CelType, DYN, objectOf } from '../../../cel/types.ts'
import { CelError, type CelValue } from '../../../cel/values.ts'
import { type CostLimit, type Expressions, isCelFailure, type VariableTypes } from '../matching/expressions.ts'

export interface CompiledVariables {
  readonly programs: ReadonlyMap<string, CompiledCel | Error>
  /** The variables that expressions of the policy can speak of, `variables` among them. */
  readonly types: VariableTypes
}

/** Each variable can be read by those that come after it. */
export function compileVariables(
  expressions: Expressions,
  variables: readonly Variable[],
  base: VariableTypes,
): CompiledVariables {
  const programs = new Map<string, CompiledCel | Error>()
  const fields = new Map<string, CelType>()
  const types = new Map([...base, ['variables', objectOf('kubernetes.variables', (name) => fields.get(name))] as const])
  for (const { name, expression } of variables) {
    const program = attempt(() => expressions.compile(expression, types, []))
    programs.set(name, program)
    fields.set(name, program instanceof Error ? DYN : program.type)
  }
  return { programs, types }
}

/** What an expression compiles to, or why it does not. */
export function attempt(compile: () => CompiledCel): CompiledCel | Error {
  try {
    return compile()
  } catch (error) {
    if (isCelFailure(error)) return error
    throw error
  }
}

/** The variables of a policy for one request: computed when first read, and once. */
export class LazyVariables extends Map<CelValue, CelValue> {
  readonly #programs: CompiledVariables['programs']
  readonly #limit: CostLimit
  readonly #values: CelVariables
  readonly #known = new Map<CelValue, CelValue>()

  /** `others` are the variables besides; it is told of these. */
  constructor({ programs }: CompiledVariables, limit: CostLimit, others: (own: LazyVariables) => CelVariables) {
    super()
    this.#programs = programs
    this.#limit = limit
    this.#values = others(this)
  }

  override get(name: CelValue): CelValue | undefined {
    const known = this.#known.get(name)
    if (known !== undefined) return known
    const program = this.#programs.get(name as string)
    if (!program) return undefined
    const value = this.#compute(name as string, program)
    this.#known.set(name, value)
    return value
  }

  #compute(name: string, program: CompiledCel | Error): CelValue {
    try {
      if (program instanceof Error) throw program
      return this.#limit.run(program, this.#values)
    } catch (error) {
      if (!isCelFailure(error)) throw error
      throw new CelError(`composited variable ${JSON.stringify(name)} fails to evaluate: ${error.message}`)
    }
  }
}
