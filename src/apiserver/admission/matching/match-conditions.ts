import type { MatchCondition } from '../../../api/generated/admissionregistration-v1.ts'
import type { Kind } from '../../../api/kind.ts'
import { forbiddenAccess } from '../../../api/meta/api-error.ts'
import type { CompiledCel } from '../../../cel/compile.ts'
import type { Authorizer } from '../../authorization/authorizer.ts'
import type { KindTable } from '../../kind-table.ts'
import type { AdmissionRequest } from '../plugin.ts'
import { seenAs } from './seen-request.ts'

type ExpressionsModule = typeof import('./expressions.ts')
type Values = Parameters<CompiledCel['evaluate']>[0]

/** Expressions with what they compile to, or why they do not. */
export type Compiled = readonly { readonly text: string; readonly program: CompiledCel | Error }[]

/** What all conditions of one webhook or policy may cost together. */
const CONDITIONS_COST = 2_500_000

/** Somebody who is asked only if all conditions hold. */
export interface Conditional {
  readonly conditions: readonly MatchCondition[]
  readonly failurePolicy: string
}

export interface ConditionsOutcome {
  readonly holds: boolean
  /** Why it is not known whether they hold. */
  readonly failure?: string
}

/** Evaluates the conditions of webhooks. */
export class MatchConditions {
  readonly #kinds: KindTable
  readonly #authorizer: Authorizer
  readonly #compiled = new WeakMap<Conditional, Compiled>()

  constructor(kinds: KindTable, authorizer: Authorizer) {
    this.#kinds = kinds
    this.#authorizer = authorizer
  }

  /** Throws where it cannot be known and that counts as a refusal. */
  async hold(asked: Conditional, request: AdmissionRequest, kind: Kind): Promise<boolean> {
    const [expressions, { Activation }] = await Promise.all([import('./expressions.ts'), import('./activation.ts')])
    const compiled = this.#compiled.get(asked) ?? (await compile(expressions, asked))
    this.#compiled.set(asked, compiled)
    const seen = await seenAs(this.#kinds, request, kind)
    const activation = new Activation({ request, kind, seen, authorizer: this.#authorizer })
    const { holds, failure } = await conditionsHold(expressions, compiled, activation)
    if (failure === undefined || asked.failurePolicy === 'Ignore') return holds && failure === undefined
    throw forbiddenAccess({ group: kind.group, resource: kind.plural }, request.name, failure)
  }
}

async function compile({ CONDITION_VARIABLES, loadExpressions }: ExpressionsModule, asked: Conditional) {
  const expressions = await loadExpressions()
  return asked.conditions.map(({ expression: text }) => {
    try {
      return { text, program: expressions.compile(text, CONDITION_VARIABLES, ['bool']) }
    } catch (error) {
      return { text, program: error as Error }
    }
  })
}

/** One that is false decides, whatever is the matter with the others. */
export async function conditionsHold(
  { CostLimit, isCelFailure }: Pick<ExpressionsModule, 'CostLimit' | 'isCelFailure'>,
  conditions: Compiled,
  values: Values,
): Promise<ConditionsOutcome> {
  const limit = new CostLimit(CONDITIONS_COST)
  const failures: string[] = []
  for (const { text, program } of conditions) {
    try {
      if (program instanceof Error) throw program
      if ((await limit.evaluate(program, values)) !== true) return { holds: false }
    } catch (error) {
      if (!isCelFailure(error)) throw error
      failures.push(`expression '${text}' resulted in error: ${error.message}`)
    }
  }
  if (failures.length === 0) return { holds: true }
  return { holds: false, failure: failures.length === 1 ? failures[0]! : `[${failures.join(', ')}]` }
}
