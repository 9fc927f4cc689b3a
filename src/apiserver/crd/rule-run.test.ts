import { beforeAll, expect, it } from 'vitest'
import type { KubernetesObject } from '../../api/meta/object.ts'
import { loadRe2, type Re2 } from '../../base/re2.ts'
import { celRules } from './cel-rules.ts'

let re2: Re2
beforeAll(async () => {
  re2 = await loadRe2()
})

/** Each run costs nearly 900,000 units and takes no time. */
const COSTLY = 'lists.range(670).sort().size() > self'

function errorsOf(values: readonly number[], rule: object): string[] {
  const items = { type: 'integer', 'x-kubernetes-validations': [rule as { rule: string }] }
  const rules = celRules({ type: 'object', properties: { values: { type: 'array', items } } }, re2)!
  return rules
    .validate({ metadata: {}, values } as KubernetesObject, undefined)
    .map(({ field, message }) => `${field}: ${message}`)
}

const times = (count: number, value = 0) => Array.from({ length: count }, () => value)
const OUT = 'validation failed due to running out of cost budget, no further validation rules will be run'

it.each<[string, readonly number[], object, readonly string[]]>([
  ['may cost ten million for one object', times(11), { rule: COSTLY }, []],
  ['end there', times(20), { rule: COSTLY }, [`values[11]: Invalid value: "integer": ${OUT}`]],
  [
    'may each cost a million',
    times(3),
    { rule: 'lists.range(710).sort().size() > self' },
    [
      'values[0]: Invalid value: "integer": no further validation rules will be run due to call cost exceeds limit for rule: lists.range(710).sort().size() > self',
    ],
  ],
  [
    'pay for their messages too',
    [1000, ...times(10)],
    { rule: COSTLY, messageExpression: "lists.range(250).sort().size() > 0 ? 'too large' : ''" },
    ['values[0]: Invalid value: "integer": too large', `values[10]: Invalid value: "integer": ${OUT}`],
  ],
])('rules %s', (_, values, rule, expected) => {
  expect(errorsOf(values, rule)).toEqual(expected)
})
