import type { Re2 } from '../base/re2.ts'
import { check } from './check.ts'
import { estimateCost } from './cost/estimate.ts'
import { prepare } from './evaluate.ts'
import { addresses } from './functions/addresses.ts'
import { conversions } from './functions/conversions.ts'
import { formats } from './functions/formats.ts'
import { lists } from './functions/lists.ts'
import { operators } from './functions/operators.ts'
import { optionals } from './functions/optionals.ts'
import { quantities } from './functions/quantities.ts'
import { semvers } from './functions/semvers.ts'
import { strings } from './functions/strings.ts'
import { times } from './functions/times.ts'
import { urls } from './functions/urls.ts'
import { type CelProblem, CelSyntaxError } from './lexer.ts'
import { type Budget, type Functions, Library } from './library.ts'
import { parse } from './parser.ts'
import type { Sized } from './sizes.ts'
import type { CelType } from './types.ts'
import type { CelValue } from './values.ts'

/** The standard functions of the language and those that Kubernetes adds. */
export function kubernetesLibrary(re2: Re2, more: readonly Functions[] = []): Library {
  const own = [operators, conversions, times, strings(re2), lists, optionals]
  return new Library([...own, quantities, addresses, urls, formats, semvers, ...more])
}

export interface CelOptions {
  readonly variables: ReadonlyMap<string, CelType>
  readonly objects?: (name: string) => CelType | undefined
  readonly library: Library
  /** How large the variables can be; the cost is estimated if this is told. */
  readonly sizes?: Sized
}

/** Values by name. Only those that an expression reads are asked for. */
export interface CelVariables {
  get(name: string): CelValue | undefined
}

/** An expression that is known to make sense. */
export interface CompiledCel {
  readonly type: CelType
  /** Declared variables that it reads. */
  readonly uses: ReadonlySet<string>
  /** Of the most expensive run that is possible; 0 where sizes were not told. */
  readonly cost: number
  /** Throws `CelError` if there is no value, `CelBudgetError` if finding it takes too much. */
  evaluate(values: CelVariables, budget: Budget): CelValue
}

/** Why an expression does not compile, with the places marked. */
export class CelCompileError extends Error {}

/** Reads and checks an expression. Throws `CelCompileError`. */
export function compileCel(text: string, options: CelOptions): CompiledCel {
  const expression = parsed(text)
  const checked = check(expression, options)
  const { type, problems, uses } = checked
  if (problems.length > 0) throw new CelCompileError(describe(text, problems))
  const names = [...options.variables.keys()]
  const run = prepare(expression, names, options.library)
  return {
    type,
    uses,
    cost: options.sizes ? estimateCost(expression, checked, options.sizes) : 0,
    evaluate: (values, budget) =>
      run({ values: names.map((name) => (uses.has(name) ? (values.get(name) ?? null) : null)), budget }),
  }
}

function parsed(text: string) {
  try {
    return parse(text)
  } catch (error) {
    if (!(error instanceof CelSyntaxError)) throw error
    throw new CelCompileError(describe(text, [error]))
  }
}

function describe(text: string, problems: readonly CelProblem[]): string {
  return problems.map((problem) => describeOne(text, problem)).join('\n')
}

/** The line in which it is, and a mark below the place. */
function describeOne(text: string, { position, message }: CelProblem): string {
  const before = text.slice(0, position).split('\n')
  const column = before.at(-1)!.length
  const line = text.split('\n')[before.length - 1] ?? ''
  return `ERROR: <input>:${before.length}:${column + 1}: ${message}\n | ${line}\n | ${'.'.repeat(column)}^`
}
