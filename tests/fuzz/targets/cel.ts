import assert from 'node:assert'
import { loadRe2 } from '../../../src/base/re2.ts'
import { CelCompileError, compileCel, kubernetesLibrary } from '../../../src/cel/compile.ts'
import { Budget } from '../../../src/cel/library.ts'
import { DYN } from '../../../src/cel/types.ts'
import { CelBudgetError, CelError, fromJson } from '../../../src/cel/values.ts'
import { attempt, type FuzzTarget } from '../engine/target.ts'

const library = kubernetesLibrary(await loadRe2())
const UNITS = 500
const self = fromJson({ name: 'web', count: 3, tags: ['a', 'b'], ports: { http: 80 }, empty: '' })

/** Rules of custom resources and policies: compiled, then run with a budget. */
export const target: FuzzTarget = {
  steps: { fixed: 1_500_000, perByte: 10_000 },
  maxBytes: 512,
  dictionary: [
    'self',
    '.name',
    '.all(x, ',
    '.map(',
    '.filter(',
    '.exists(',
    ' && ',
    ' || ',
    ' ? ',
    ' : ',
    ' in ',
    '==',
    '[0]',
    '{',
    '}',
    '[',
    ']',
    '(',
    ')',
    "'",
    '"""',
    'b"',
    'r"',
    '1u',
    '0x',
    '1e5',
    'has(',
    'size(',
    '.?',
    '.matches(',
    '.format([',
    '%d',
    '.split(',
    'duration("1h")',
    'timestamp(',
    'quantity("1Mi")',
    'ip("::1")',
    'cidr("10.0.0.0/8")',
    'semver("1.2.3")',
    'sets.contains(',
    'lists.range(',
    '.sortBy(',
    'optional.of(',
    '.orValue(',
    'type(',
    'dyn(',
    '-',
    '!',
    '%',
    '9223372036854775807',
  ],
  run(input) {
    const text = input.toString()
    const compiled = attempt(
      () => compileCel(text, { variables: new Map([['self', DYN]]), library, sizes: { max: 10 } }),
      CelCompileError,
    )
    if ('error' in compiled) return compiled
    const { type, cost, uses } = compiled.value
    assert(cost >= 0 && !Number.isNaN(cost), 'the estimate is no number')
    const budget = new Budget(UNITS)
    const run = attempt(() => compiled.value.evaluate(new Map([['self', self]]), budget), CelError, CelBudgetError)
    assert(budget.left <= UNITS)
    return { type: type.kind, cost, uses: [...uses], left: budget.left, error: 'error' in run ? run.error : '' }
  },
}
