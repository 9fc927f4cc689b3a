import { describe, expect, it } from 'vitest'
import { areTrailers, requestHead } from './request-head.ts'

const HEAD = { ':method': 'GET', ':scheme': 'https', ':authority': 'example.com', ':path': '/' }
/** A request with these pseudo-headers replaced, or left out, and with these headers added. */
const head = (pseudo: Record<string, string | undefined>, ...more: string[]) => {
  const all = Object.entries({ ...HEAD, ...pseudo }).flatMap(([name, value]) =>
    value === undefined ? [] : [name, value],
  )
  return requestHead([...all, ...more])
}

describe('requestHead refuses', () => {
  it.each<[what: string, pseudo: Record<string, string | undefined>, ...more: string[]]>([
    ['a path without a slash', { ':path': 'api/v1/pods' }],
    ['a path in absolute form', { ':path': 'https://example.com/' }],
    ['a path with a space', { ':path': '/a HTTP/1.1' }],
    ['a path with a line break', { ':path': '/a\r\nx: y' }],
    ['a path with a control character', { ':path': '/a\x7f' }],
    ['a path with a fragment', { ':path': '/a#b' }],
    ['an empty path', { ':path': '' }],
    ['an asterisk for another method than OPTIONS', { ':path': '*' }],
    ['a method with a space', { ':method': 'GET /x' }],
    ['CONNECT without a path', { ':method': 'CONNECT', ':path': undefined, ':scheme': undefined }],
    ['another scheme', { ':scheme': 'ftp' }],
    ['a user in the authority', { ':authority': 'admin@example.com' }],
    ['a host that differs from the authority', {}, 'host', 'other.example.com'],
    ['two hosts', { ':authority': undefined }, 'host', 'a', 'host', 'a'],
    ['two different content-lengths', {}, 'content-length', '5', 'content-length', '50'],
    ['two equal content-lengths', {}, 'content-length', '5', 'content-length', '5'],
    ['a content-length with a sign', {}, 'content-length', '+5'],
    ['a hexadecimal content-length', {}, 'content-length', '0x5'],
    ['a list as content-length', {}, 'content-length', '5, 5'],
    ['an empty content-length', {}, 'content-length', ''],
    ['a huge content-length', {}, 'content-length', '9'.repeat(30)],
    ['transfer-encoding', {}, 'transfer-encoding', 'chunked'],
    ['upgrade', {}, 'upgrade', 'h2c'],
    ['connection', {}, 'connection', 'x-remote-user'],
    ['a space in a name', {}, 'x remote-user', 'a'],
    ['a colon in a name', {}, 'x:y', 'a'],
    ['a control character in a value', {}, 'a', 'b\x01'],
    ['a NUL in a value', {}, 'a', 'b\0c'],
    ['space around a value', {}, 'a', ' b'],
  ])('%s', (_, pseudo, ...more) => expect(head(pseudo, ...more)).toBeUndefined())
})

describe('requestHead takes', () => {
  it.each<[what: string, pseudo: Record<string, string | undefined>, ...more: string[]]>([
    ['any path with a query', { ':path': '/a//b/%2e%2e/?x=1&y="' }],
    ['OPTIONS of the server', { ':method': 'OPTIONS', ':path': '*' }],
    ['the authority again as host', {}, 'host', 'example.com'],
    ['a content-length', {}, 'content-length', '5'],
    ['bytes beyond ASCII in a value', {}, 'a', 'Ã¤'],
    ['a name with underscores', {}, 'a_b', 'c'],
  ])('%s', (_, pseudo, ...more) => expect(head(pseudo, ...more)).toBeDefined())
})

it.each([
  [['grpc-status', '0'], true],
  [[], true],
  [[':path', '/'], false],
  [['content-length', '5'], false],
  [['transfer-encoding', 'chunked'], false],
  [['host', 'a'], false],
  [['A', 'b'], false],
  [['a', 'b\n'], false],
])('areTrailers(%j) is %s', (fields, expected) => expect(areTrailers(fields)).toBe(expected))
