import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { HeaderDecoder } from './header-decoder.ts'
import { type AnswerHeaders, answerHeaders } from './header-encoder.ts'

/** As a client reads it, with values as the UTF-8 they are. */
function read(status: number, headers: AnswerHeaders): string[] {
  const reader = new HeaderDecoder({ tableBytes: 0, listBytes: 1e7 })
  const fields = reader.decode(Buffer.from(answerHeaders(status, headers)))
  return fields.map((text) => Buffer.from(text, 'latin1').toString())
}

describe('answerHeaders', () => {
  it.each([
    [200, '88'],
    [204, '89'],
    [206, '8a'],
    [304, '8b'],
    [400, '8c'],
    [404, '8d'],
    [500, '8e'],
    [201, '0803323031'],
    [101, '0803313031'],
  ])('status %i', (status, bytes) => {
    expect(answerHeaders(status, {}).toString('hex')).toBe(bytes)
    expect(read(status, {})).toEqual([':status', String(status)])
  })

  it.each<[string, AnswerHeaders, string]>([
    ['a name of the table', { 'content-type': 'text/plain' }, '0f100a746578742f706c61696e'],
    ['an early name of the table', { 'Content-Length': 12 }, '0f0d023132'],
    ['a name of nobody', { 'X-A': 'b' }, '0003782d610162'],
    ['no value', { 'x-a': undefined, 'x-b': '' }, '0003782d6200'],
    ['127 bytes', { age: 'x'.repeat(127) }, `0f067f00${'78'.repeat(127)}`],
    ['300 bytes', { age: 'x'.repeat(300) }, `0f067fad01${'78'.repeat(300)}`],
  ])('%s', (_, headers, bytes) => {
    expect(answerHeaders(200, headers).toString('hex')).toBe(`88${bytes}`)
  })

  it.each<[string, AnswerHeaders, string[]]>([
    [
      'one field for each of many values',
      { 'Set-Cookie': ['a', 'b'], via: [] },
      ['set-cookie', 'a', 'set-cookie', 'b'],
    ],
    ['UTF-8', { warning: '299 - "schön ⛵"' }, ['warning', '299 - "schön ⛵"']],
    ['half a character', { a: 'x\ud83d' }, ['a', 'x\ufffd']],
    ['no new lines', { a: 'b\r\nset-cookie: c\0d' }, ['a', 'b  set-cookie: c d']],
    ['no new lines in what is long', { a: `${'x'.repeat(100)}\r\ny` }, ['a', `${'x'.repeat(100)}  y`]],
    ['no new lines in UTF-8', { a: '⛵\nö' }, ['a', '⛵ ö']],
    ['nothing that deletes', { a: 'b\x7fc' }, ['a', 'b c']],
    ['tabs, and no other control characters', { a: 'b\tc\x1b\x7fd' }, ['a', 'b\tc  d']],
    [
      'no blanks around a value',
      { a: ' b', c: 'd ', e: 'f\n', g: ' ', h: '\ti' },
      ['a', 'b', 'c', 'd', 'e', 'f', 'g', '', 'h', 'i'],
    ],
    ['no status but the one', { ':status': '500', ':path': '/' }, []],
    [
      'nothing of HTTP/1.1',
      { Connection: 'close', 'keep-alive': '1', 'Proxy-Connection': 'x', 'Transfer-Encoding': 'chunked', upgrade: 'x' },
      [],
    ],
    ['no names that are none', { '': 'x', 'a b': 'x', 'a\r\nb': 'x', 'a:': 'x', ä: 'x' }, []],
  ])('%s', (_, headers, fields) => {
    // Twice: names are kept from the first time.
    expect(read(200, headers)).toEqual([':status', '200', ...fields])
    expect(read(200, headers)).toEqual([':status', '200', ...fields])
  })

  it('grows as it must', () => {
    const headers = { a: 'x'.repeat(3000), b: '⛵'.repeat(30_000), c: 'y'.repeat(100_000), d: 'z' }
    expect(read(201, headers)).toEqual([':status', '201', ...Object.entries(headers).flat()])
  })

  it('knows more names than it keeps', () => {
    for (let i = 0; i < 2000; i++) expect(read(200, { [`X-${i}`]: i })).toEqual([':status', '200', `x-${i}`, String(i)])
  })

  it('writes any headers so that they can be read', () => {
    const name = fc.string({ unit: fc.constantFrom('a', 'z', '0', '-'), maxLength: 150 }).map((text) => `x-${text}`)
    const value = fc.string({ unit: 'binary', maxLength: 200 })
    fc.assert(
      fc.property(fc.dictionary(name, value), (headers) => {
        const fields = read(200, headers).slice(2)
        const clean = (text: string) => text.replace(/[^\t\P{Cc}\x80-\x9f]/gu, ' ').trim()
        expect(fields).toEqual(Object.entries(headers).flatMap(([key, text]) => [key, clean(text)]))
      }),
      { seed: 7 },
    )
  })
})
