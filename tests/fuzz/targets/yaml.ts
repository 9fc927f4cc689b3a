import assert from 'node:assert'
import { ApiError } from '../../../src/api/meta/api-error.ts'
import { decodeYaml } from '../../../src/api/schema/decode-yaml.ts'
import { attemptAsync, type FuzzTarget } from '../engine/target.ts'

/** Manifests. */
export const target: FuzzTarget = {
  steps: { fixed: 400_000, perByte: 6000 },
  maxBytes: 1024,
  dictionary: [
    '- ',
    ': ',
    '\n',
    '  ',
    '&a ',
    '*a',
    '<<: *a',
    '!!binary ',
    '|\n',
    '>-\n',
    '"',
    "'",
    '{',
    '}',
    '[',
    ']',
    '---\n',
    '0o7',
    '0x',
    'yes',
    '~',
    '? ',
    '# ',
    '%YAML 1.1\n',
    '!!set',
  ],
  async run(input) {
    const outcome = await attemptAsync(async () => (await decodeYaml(input)).value, ApiError)
    if ('value' in outcome) assert.deepStrictEqual(JSON.parse(JSON.stringify(outcome.value)), outcome.value)
    return outcome
  },
}
