import assert from 'node:assert'
import { ApiError } from '../../../src/api/meta/api-error.ts'
import { formatFieldSelector, parseFieldSelector } from '../../../src/api/meta/field-selector.ts'
import { formatSelector } from '../../../src/api/meta/label-selector.ts'
import { parseLabelSelector } from '../../../src/api/meta/label-selector-parser.ts'
import { attempt, type FuzzTarget } from '../engine/target.ts'

/** Selectors of labels and of fields, as they come in a query. */
export const target: FuzzTarget = {
  steps: { fixed: 5000, perByte: 500 },
  dictionary: [
    ' in (',
    ' notin (',
    '!=',
    '==',
    '=',
    ',',
    '!',
    ')',
    '>',
    '<',
    'app.kubernetes.io/',
    '\\,',
    '\\=',
    '\\\\',
    'metadata.name',
  ],
  run(input) {
    const text = input.toString()
    const labels = attempt(() => formatSelector(parseLabelSelector(text)), ApiError)
    // A set of the empty text alone prints as no set at all, as it does upstream.
    if ('value' in labels && !labels.value.includes('()'))
      assert.strictEqual(formatSelector(parseLabelSelector(labels.value)), labels.value)
    const fields = attempt(() => parseFieldSelector(text), ApiError)
    if ('value' in fields && fields.value.every(({ field }) => !field.includes('\\')))
      assert.deepStrictEqual(parseFieldSelector(formatFieldSelector(fields.value)), fields.value)
    return { labels, fields }
  },
}
