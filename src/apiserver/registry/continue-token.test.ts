import { describe, expect, it } from 'vitest'
import { decodeContinueToken, encodeContinueToken, expiredContinue } from './continue-token.ts'

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

describe('continue token', () => {
  it('comes back as it went', () => {
    const token = { revision: 42, after: 'default/ä' }
    expect(decodeContinueToken(encodeContinueToken(token))).toEqual(token)
  })

  it.each([
    ['no base64', '!!!!'],
    ['no JSON', Buffer.from('hello').toString('base64url')],
    ['JSON null', encode(null)],
    ['another version', encode({ v: 'meta.k8s.io/v9', rv: 1, start: 'a' })],
    ['revision 0', encode({ v: 'meta.k8s.io/v1', rv: 0, start: 'a' })],
    ['revision as text', encode({ v: 'meta.k8s.io/v1', rv: '1', start: 'a' })],
    ['no start', encode({ v: 'meta.k8s.io/v1', rv: 1 })],
    ['a start outside', encode({ v: 'meta.k8s.io/v1', rv: 1, start: '../secrets/x' })],
    ['an absolute start', encode({ v: 'meta.k8s.io/v1', rv: 1, start: '/x' })],
  ])('is refused with 400: %s', (_, text) => {
    expect(() => decodeContinueToken(text)).toThrow(expect.objectContaining({ code: 400 }))
  })

  it('that is too old comes with one that goes on anyhow', () => {
    const error = expiredContinue('default/a')
    expect(error.code).toBe(410)
    expect(decodeContinueToken(error.listMeta.continue!)).toEqual({ revision: -1, after: 'default/a' })
  })
})
