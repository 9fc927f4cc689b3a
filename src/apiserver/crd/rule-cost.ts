import type { JSONSchemaProps } from '../../api/generated/apiextensions-v1.ts'
import { type FieldError, forbidden } from '../../api/meta/field-error.ts'
import type { FieldPath } from '../../api/meta/field-path.ts'
import { plus, times } from '../../cel/sizes.ts'
import { MAX_REQUEST_BYTES, type SchemaSize } from './cel-sizes.ts'

const RULE_LIMIT = 10_000_000
const SCHEMA_LIMIT = 100_000_000
/** Cheaper ones are not named when all together are too expensive. */
const WORTH_NAMING = SCHEMA_LIMIT / 100
const MOST_NAMED = 4

/** How often a value can be there within one object; undefined where only the size of a request says so. */
export type Cardinality = number | undefined

/** How often what is within a value can be there. */
export function cardinalityBelow(props: JSONSchemaProps, own: Cardinality): Cardinality {
  if (own === undefined) return undefined
  const limit = elementsOf(props)
  return limit === undefined ? undefined : times(own, Math.max(0, limit))
}

function elementsOf({ type, additionalProperties, maxProperties, maxItems }: JSONSchemaProps): number | undefined {
  if (type === 'array') return maxItems
  return type === 'object' && additionalProperties !== undefined ? maxProperties : 1
}

/** The estimated cost of all rules of a schema. */
export class RuleCosts {
  #total = 0
  readonly #rules: { readonly path: FieldPath; readonly cost: number }[] = []

  /** A rule runs as often as its value can be there. */
  rule(cost: number, size: SchemaSize | undefined, cardinality: Cardinality, path: FieldPath): FieldError[] {
    const often = cardinality ?? Math.floor(MAX_REQUEST_BYTES / ((size?.least ?? 0) + 1))
    return this.#add(times(cost, often), path, 'estimated rule cost')
  }

  /** Only the first that fails is told. */
  message(cost: number, path: FieldPath): FieldError[] {
    return this.#add(cost, path, 'estimated messageExpression cost')
  }

  /** What is wrong with all of them together. */
  total(path: FieldPath): FieldError[] {
    if (this.#total <= SCHEMA_LIMIT) return []
    const expensive = this.#rules.toSorted((a, b) => b.cost - a.cost).slice(0, MOST_NAMED)
    const what = 'x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema'
    return [
      ...expensive.map((one) =>
        forbidden(
          one.path,
          'contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema',
        ),
      ),
      forbidden(path, exceeded(what, this.#total, SCHEMA_LIMIT)),
    ]
  }

  #add(cost: number, path: FieldPath, what: string): FieldError[] {
    this.#total = plus(this.#total, cost)
    if (cost >= WORTH_NAMING) this.#rules.push({ path, cost })
    return cost > RULE_LIMIT ? [forbidden(path, exceeded(what, cost, RULE_LIMIT))] : []
  }
}

function exceeded(what: string, cost: number, limit: number): string {
  const factor = cost / limit
  const shown = factor > 100 ? 'more than 100x' : `${factor.toFixed(factor < 1.5 ? 6 : 1)}x`
  return `${what} exceeds budget by factor of ${shown} (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)`
}
