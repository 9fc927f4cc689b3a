import { expect, test } from 'vitest'
import { formatTable, type Table, type TableStyle } from './table.ts'

const TABLE: Table = {
  columnDefinitions: [{ name: 'Name' }, { name: 'Ready', priority: 0 }, { name: 'IP', priority: 1 }],
  rows: [
    { cells: ['web', '1/1', '10.0.0.1'], object: { metadata: { name: 'web', namespace: 'shop' } } },
    { cells: ['database', null, '10.0.0.2'], object: { metadata: { name: 'database', namespace: 'default' } } },
  ],
}

test.each<[string, TableStyle, string[]]>([
  ['plain', {}, ['NAME       READY', 'web        1/1', 'database   <none>']],
  ['wide', { wide: true }, ['NAME       READY    IP', 'web        1/1      10.0.0.1', 'database   <none>   10.0.0.2']],
  [
    'all namespaces',
    { withNamespace: true, headers: false },
    ['shop      web        1/1', 'default   database   <none>'],
  ],
  ['named', { namePrefix: 'pod/', headers: false }, ['pod/web        1/1', 'pod/database   <none>']],
])('%s', (_, style, lines) => expect(formatTable(TABLE, style)).toEqual(lines))

test('control characters in data do not reach the terminal', () => {
  const table = { columnDefinitions: [{ name: 'Name' }], rows: [{ cells: ['a\u001b[31m\nb'] }] }
  expect(formatTable(table, { headers: false })).toEqual(['a [31m b'])
})
