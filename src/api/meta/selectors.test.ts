import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { FieldPath } from './field-path.ts'
import {
  checkFieldSelector,
  type FieldSelector,
  formatFieldSelector,
  matchesFields,
  parseFieldSelector,
  requiredFieldValue,
} from './field-selector.ts'
import {
  compileLabelSelector,
  formatSelector,
  matchesLabels,
  NOTHING,
  selectorFromSet,
  selectsEverything,
  validateLabelSelector,
} from './label-selector.ts'
import { parseLabelSelector } from './label-selector-parser.ts'

describe('label selectors in text', () => {
  test.each([
    ['', {}, true],
    ['a=b', { a: 'b' }, true],
    ['a=b', { a: 'c' }, false],
    ['a=b', {}, false],
    ['a==b', { a: 'b' }, true],
    ['a!=b', { a: 'c' }, true],
    ['a!=b', {}, true],
    ['a!=b', { a: 'b' }, false],
    ['a=', { a: '' }, true],
    ['a=', {}, false],
    ['a in (x,y)', { a: 'y' }, true],
    ['a in (x,y)', { a: 'z' }, false],
    ['a in (x,y)', {}, false],
    ['a in (,)', { a: '' }, true],
    ['a notin (x,y)', {}, true],
    ['a notin (x,y)', { a: 'x' }, false],
    ['a', { a: '' }, true],
    ['a', {}, false],
    ['!a', {}, true],
    ['! a', { a: '1' }, false],
    ['a>5', { a: '6' }, true],
    ['a>5', { a: '5' }, false],
    ['a>5', { a: 'x' }, false],
    ['a<5', { a: '-1' }, true],
    ['a=b,c!=d,e in (x,y),!f,g', { a: 'b', e: 'x', g: '' }, true],
    ['a=b,c!=d,e in (x,y),!f,g', { a: 'b', e: 'x', g: '', f: '' }, false],
    ['in in (in,notin)', { in: 'notin' }, true],
    [' a = b , c ', { a: 'b', c: '1' }, true],
    ['constructor', {}, false],
    ['!constructor', {}, true],
    ['app.kubernetes.io/name=x', { 'app.kubernetes.io/name': 'x' }, true],
  ])('%j on %j: %s', (text, labels, matches) => {
    expect(matchesLabels(parseLabelSelector(text), labels)).toBe(matches)
  })

  test.each([
    ['a=b', 'a=b'],
    ['b,a', 'a,b'],
    ['a == b', 'a==b'],
    ['a in ( y, x ,x)', 'a in (x,y)'],
    ['!a,b>1,c<2', '!a,b>1,c<2'],
    ['a notin (b)', 'a notin (b)'],
  ])('%j prints as %j', (text, printed) => {
    expect(formatSelector(parseLabelSelector(text))).toBe(printed)
  })

  test.each([
    ['a b', "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"],
    ['=b', "found '=', expected: !, identifier, or 'end of string'"],
    ['a,', "found '', expected: identifier after ','"],
    ['a=b=c', "found '=', expected: ',' or 'end of string'"],
    ['a in b', "unable to parse requirement: found 'b' expected: '('"],
    ['a in (b', "unable to parse requirement: found '', expected: ',' or ')'"],
    [
      'a in ()',
      `unable to parse requirement: values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty`,
    ],
    ['!', "unable to parse requirement: found '', expected: identifier"],
    ['a=(', "unable to parse requirement: found '(', expected: identifier"],
    [
      'a>b',
      `unable to parse requirement: values[0]: Invalid value: "b": for 'Gt', 'Lt' operators, the value must be an integer`,
    ],
    ['a=-b', /^unable to parse requirement: values\[0\]\[a\]: Invalid value: "-b": a valid label must be/],
    ['a/b/c=d', /^unable to parse requirement: key: Invalid value: "a\/b\/c": a qualified name/],
  ])('%j is refused', (text, message) => {
    expect(() => parseLabelSelector(text)).toThrow(
      expect.objectContaining({
        code: 400,
        message: typeof message === 'string' ? message : expect.stringMatching(message),
      }),
    )
  })

  const word = fc.stringMatching(/^[a-z][a-z0-9]{0,5}$/)
  const term = fc.oneof(
    word,
    word.map((key) => `!${key}`),
    fc.tuple(word, fc.constantFrom('=', '==', '!='), word).map((parts) => parts.join('')),
    fc
      .tuple(word, fc.constantFrom('in', 'notin'), fc.array(word, { minLength: 1, maxLength: 3 }))
      .map(([key, operator, values]) => `${key} ${operator} (${values.join(',')})`),
    fc.tuple(word, fc.constantFrom('<', '>'), fc.nat()).map((parts) => parts.join('')),
  )
  test('printing and parsing again gives the same selector', () => {
    fc.assert(
      fc.property(fc.array(term, { maxLength: 5 }), (terms) => {
        const printed = formatSelector(parseLabelSelector(terms.join(',')))
        expect(formatSelector(parseLabelSelector(printed))).toBe(printed)
      }),
    )
  })

  test('any text is parsed or refused', () => {
    const noise = fc.string({ unit: fc.constantFrom('a', 'in', ' ', '=', '!', '(', ')', ',', '>', '<', '-') })
    fc.assert(
      fc.property(noise, (text) => {
        try {
          parseLabelSelector(text)
        } catch (error) {
          expect(error).toMatchObject({ code: 400 })
        }
      }),
    )
  })
})

describe('label selectors in objects', () => {
  test.each([
    [{ matchLabels: { a: 'b' } }, { a: 'b' }, true],
    [{ matchExpressions: [{ key: 'a', operator: 'In', values: ['x'] }] }, { a: 'x' }, true],
    [{ matchExpressions: [{ key: 'a', operator: 'NotIn', values: ['x'] }] }, { a: 'x' }, false],
    [{ matchExpressions: [{ key: 'a', operator: 'Exists' }] }, {}, false],
    [{ matchExpressions: [{ key: 'a', operator: 'DoesNotExist' }] }, {}, true],
    [{ matchLabels: { a: 'b' }, matchExpressions: [{ key: 'c', operator: 'Exists' }] }, { a: 'b' }, false],
    [{}, { a: 'b' }, true],
    [undefined, { a: 'b' }, false],
  ])('%j on %j: %s', (selector, labels, matches) => {
    expect(matchesLabels(compileLabelSelector(selector), labels)).toBe(matches)
  })

  test('everything, nothing, sets', () => {
    expect(selectsEverything(compileLabelSelector({}))).toBe(true)
    expect(selectsEverything(NOTHING)).toBe(false)
    expect(formatSelector(selectorFromSet({ b: '2', a: '1' }))).toBe('a=1,b=2')
    expect(() => compileLabelSelector({ matchExpressions: [{ key: 'a', operator: 'Gt' }] })).toThrow(
      '"Gt" is not a valid label selector operator',
    )
  })

  test('validation names each field', () => {
    const errors = validateLabelSelector(
      {
        matchLabels: { 'a b': '-' },
        matchExpressions: [
          { key: 'a', operator: 'In' },
          { key: 'a', operator: 'Exists', values: ['x'] },
          { key: '', operator: 'Near', values: ['-'] },
        ],
      },
      FieldPath.root('spec').child('selector'),
    )
    expect(errors.map((error) => error.field)).toEqual([
      'spec.selector.matchLabels',
      'spec.selector.matchLabels',
      'spec.selector.matchExpressions[0].values',
      'spec.selector.matchExpressions[1].values',
      'spec.selector.matchExpressions[2].operator',
      'spec.selector.matchExpressions[2].key',
      'spec.selector.matchExpressions[2].key',
      'spec.selector.matchExpressions[2].values[0]',
    ])
  })
})

describe('field selectors', () => {
  const event: Record<string, string> = { 'metadata.name': 'boot', type: 'Warning', reason: 'disk=full, \\o/' }
  test.each([
    ['', true],
    [',', true],
    ['type=Warning', true],
    ['type==Warning', true],
    ['type!=Warning', false],
    ['type=Normal', false],
    ['type=warning', false],
    ['metadata.name=boot,type!=Warning', false],
    ['metadata.name=boot,type!=Normal', true],
    [',,metadata.name=boot,', true],
    ['reason=disk\\=full\\, \\\\o/', true],
    ['count=', true],
    ['count!=', false],
  ])('%j selects: %s', (text, isSelected) => {
    expect(matchesFields(parseFieldSelector(text), (field) => event[field] ?? '')).toBe(isSelected)
  })

  test.each<[string, FieldSelector]>([
    ['a=b', [{ field: 'a', operator: '=', value: 'b' }]],
    ['a==b', [{ field: 'a', operator: '=', value: 'b' }]],
    ['a!=b', [{ field: 'a', operator: '!=', value: 'b' }]],
    ['a!b=c', [{ field: 'a!b', operator: '=', value: 'c' }]],
    ['a=!b', [{ field: 'a', operator: '=', value: '!b' }]],
    ['=b', [{ field: '', operator: '=', value: 'b' }]],
    ['a b = c ', [{ field: 'a b ', operator: '=', value: ' c ' }]],
    // A backslash keeps a comma in a field, but no operator.
    ['a\\,b=c', [{ field: 'a\\,b', operator: '=', value: 'c' }]],
    ['a\\=b', [{ field: 'a\\', operator: '=', value: 'b' }]],
    ['a\\\\=b,c=d', [{ field: 'a\\\\', operator: '=', value: 'b' }, { field: 'c', operator: '=', value: 'd' }]], // biome-ignore format: one line
    ['a=,b=', [{ field: 'a', operator: '=', value: '' }, { field: 'b', operator: '=', value: '' }]], // biome-ignore format: one line
  ])('%j is read as %j', (text, selector) => {
    expect(parseFieldSelector(text)).toEqual(selector)
  })

  test.each([
    ['type', "invalid selector: 'type'; can't understand 'type'"],
    ['type=a, ', "invalid selector: 'type=a, '; can't understand ' '"],
    ['a\\,b,c=d', "invalid selector: 'a\\,b,c=d'; can't understand 'a\\,b'"],
    ['a===b', 'invalid field selector: unescaped character in value: 61'],
    ['a=b!=c', 'invalid field selector: unescaped character in value: 61'],
    ['a=\\b', 'invalid field selector: invalid escape sequence: \\b'],
    ['a=1,b=2\\', 'invalid field selector: invalid escape sequence: \\'],
  ])('%j is rejected', (text, message) => {
    expect(() => parseFieldSelector(text)).toThrow(expect.objectContaining({ code: 400, message }))
  })

  test('printing and parsing gives back every value', () => {
    fc.assert(
      fc.property(fc.string(), (value) => {
        const selector = [{ field: 'a.b', operator: '=' as const, value }]
        expect(parseFieldSelector(formatFieldSelector(selector))).toEqual(selector)
      }),
    )
  })

  test('only selectable fields may be named', () => {
    const selector = parseFieldSelector('metadata.name=a,spec.foo=b')
    expect(() => checkFieldSelector(selector, new Set(['spec.bar']))).toThrow('field label not supported: spec.foo')
    expect(() => checkFieldSelector(selector, new Set())).toThrow(
      '"spec.foo" is not a known field selector: only "metadata.name", "metadata.namespace"',
    )
    expect(() => checkFieldSelector(selector, new Set(['spec.foo']))).not.toThrow()
    expect(requiredFieldValue(selector, 'metadata.name')).toBe('a')
    expect(requiredFieldValue(selector, 'metadata.namespace')).toBeUndefined()
  })
})
