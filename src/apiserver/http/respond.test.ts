import { validateHeaderValue } from 'node:http'
import { describe, expect, it } from 'vitest'
import { warningHeaders } from './respond.ts'

describe('warningHeaders', () => {
  it.each([
    ['plain', 'unknown field "spec.a"', '299 - "unknown field \\"spec.a\\""'],
    ['a backslash', 'a\\b', '299 - "a\\\\b"'],
    ['line breaks and other control characters', 'a\r\nSet-Cookie: x\u0000b', '299 - "a Set-Cookie: x b"'],
    ['text beyond ASCII, as UTF-8', 'fü', `299 - "${Buffer.from('fü').toString('latin1')}"`],
  ])('%s', (_, warning, header) => {
    expect(warningHeaders([warning])).toEqual([header])
    expect(() => validateHeaderValue('warning', header)).not.toThrow()
  })

  it('fit into the room that headers have', () => {
    const many = Array.from({ length: 100 }, (_, i) => `${i} ${'x'.repeat(1000)}`)
    const headers = warningHeaders(many)
    expect(headers.length).toBeGreaterThan(10)
    expect(headers.join('').length).toBeLessThan(5000)
  })
})
