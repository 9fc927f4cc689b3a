import { describe, expect, it } from 'vitest'
import { CorefileError } from './corefile-error.ts'
import { defaultCorefile } from './default-corefile.ts'
import { hostAndPort, zoneOf } from './options.ts'
import { type Directive, parseCorefile } from './parse.ts'

/** `forward . 1.1.1.1 { policy random }`, in one line. */
const shown = ({ name, args, options }: Directive): string =>
  [name, ...args, ...(options.length > 0 ? ['{', options.map(shown).join('; '), '}'] : [])].join(' ')

const parsed = (text: string, environment = {}) =>
  parseCorefile(text, environment).map(
    ({ keys, directives }) => `${keys.join('|')}: ${directives.map(shown).join(', ')}`,
  )

describe('a Corefile', () => {
  it.each<[string, string, string[]]>([
    ['one block', '.:53 {\n errors\n log\n}', ['.:53: errors, log']],
    ['several zones', 'a.org, b.org:53 c.org {\n errors\n}', ['a.org|b.org:53|c.org: errors']],
    ['several blocks', '. {\n errors\n}\na.org {\n log\n}', ['.: errors', 'a.org: log']],
    [
      'options',
      '. {\n cache 30 {\n  success 9984\n  denial 10 5\n }\n}',
      ['.: cache 30 { success 9984; denial 10 5 }'],
    ],
    ['comments', '# all\n. { # here\n errors # there\n # log\n}', ['.: errors']],
    ['quotes', '. {\n errors {\n consolidate 5m "a { # \\" b"\n }\n}', ['.: errors { consolidate 5m a { # " b }']],
    ['a snippet', '(both) {\n errors\n log\n}\n. {\n import both\n cache\n}', ['.: errors, log, cache']],
    ['files that are not there', '. {\n import custom/*.override\n errors\n}', ['.: errors']],
    ['the environment', '{$ZONE}:{%PORT%} {\n errors\n}', ['a.org:53: errors']],
    ['Windows lines', '. {\r\n errors\r\n}\r\n', ['.: errors']],
  ])('%s', (_, text, expected) => {
    expect(parsed(text, { ZONE: 'a.org', PORT: '53' })).toEqual(expected)
  })

  it.each<[string, string, number, string]>([
    ['nothing', '# nothing\n', 1, 'there is no server block'],
    ['no brace', '.\nerrors', 1, "expected '{'"],
    ['no end', '\n. {\n errors\n', 2, "'{' without its '}'"],
    ['an end too many', '. {\n}\n}', 3, "unexpected '}'"],
    ['a block without a name', '. {\n {\n }\n}', 2, "unexpected '{'"],
    ['no zone', '{\n errors\n}', 1, 'without a zone'],
    ['quotes without end', '. {\n errors "x\n}', 2, 'has no end'],
    ['a snippet that is not there', '. {\n errors\n import x\n}', 3, "no snippet 'x'"],
  ])('%s is refused with its line', (_, text, line, problem) => {
    expect(() => parseCorefile(text)).toThrow(CorefileError)
    expect(() => parseCorefile(text)).toThrow(`Corefile:${line} - Error during parsing: `)
    expect(() => parseCorefile(text)).toThrow(problem)
  })

  it('is there by default', () => {
    expect(parsed(defaultCorefile('example.zone'))[0]).toContain('kubernetes example.zone in-addr.arpa ip6.arpa { pods')
  })
})

describe('arguments', () => {
  const directive: Directive = { name: 'x', args: [], line: 3, options: [] }
  it.each([
    ['10.0.0.1', '10.0.0.1', 53],
    ['10.0.0.1:5353', '10.0.0.1', 5353],
    [':8080', 'here', 8080],
    ['', 'here', 53],
    ['[fd00::1]:5353', 'fd00::1', 5353],
    ['fd00::1', 'fd00::1', 53],
  ])('%s is %s, port %i', (text, host, port) => {
    expect(hostAndPort(directive, text, { host: 'here', port: 53 })).toEqual({ host, port })
  })

  it.each([
    ['.', ''],
    ['Example.ORG.', 'example.org'],
    ['10.0.0.0/8', '10.in-addr.arpa'],
    ['192.168.7.0/24', '7.168.192.in-addr.arpa'],
  ])('zone %s is %s', (text, zone) => {
    expect(zoneOf(directive, text)).toBe(zone)
  })

  it('refuses what it cannot read', () => {
    expect(() => zoneOf(directive, '10.0.0.0/9')).toThrow('Corefile:3')
    expect(() => hostAndPort(directive, ':99999', { host: '', port: 1 })).toThrow('not a port')
  })
})
