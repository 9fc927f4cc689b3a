import { CorefileError } from '../../../src/cluster-dns/corefile/corefile-error.ts'
import { parseCorefile } from '../../../src/cluster-dns/corefile/parse.ts'
import { attempt, type FuzzTarget } from '../engine/target.ts'

/** The configuration of the cluster's DNS. */
export const target: FuzzTarget = {
  steps: { fixed: 5000, perByte: 300 },
  dictionary: [
    '.:53 {\n',
    '}\n',
    'kubernetes ',
    'forward . ',
    'import ',
    '(snippet) {\n',
    '{$HOME}',
    '{%HOME%}',
    '"',
    '\\"',
    '# ',
    '{',
    '}',
    '\n',
  ],
  run: (input) => attempt(() => parseCorefile(input.toString(), { HOME: '/root', LOOP: '{$LOOP}' }), CorefileError),
}
