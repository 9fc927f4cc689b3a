import type { TLSSocket } from 'node:tls'
import { describe, expect, it } from 'vitest'
import type { Exchange } from '../http/exchange.ts'
import { authenticatorOf } from './authenticator.ts'

const NOW = Date.UTC(2026, 0, 1)
const at = (offset: number) => new Date(NOW + offset).toUTCString()

/** A connection whose certificate, and whose authority's, end then. */
function socketOf(leaf: number, authority: number): TLSSocket {
  const root: Record<string, unknown> = { valid_to: at(authority) }
  root.issuerCertificate = root
  const certificate = { subject: { CN: 'ann' }, fingerprint256: 'AA', valid_to: at(leaf), issuerCertificate: root }
  return { authorized: true, getPeerCertificate: () => certificate } as unknown as TLSSocket
}

const HOUR = 3_600_000

describe('a client certificate', () => {
  let now = NOW
  const authenticator = authenticatorOf({
    clock: { now: () => now },
    tokens: [
      {
        authenticate: (token) => (token === 'good' ? { user: { name: 'bob', groups: [] }, audiences: [] } : undefined),
      },
    ],
    serverAudiences: [],
    anonymous: () => true,
  })
  const whoIs = async (socket: TLSSocket, headers: Record<string, string> = {}) => {
    try {
      return (await authenticator.authenticate({ socket, headers, url: '/api' } as unknown as Exchange)).name
    } catch (error) {
      return (error as { code: number }).code
    }
  }

  it.each([
    ['names a user while it is valid', HOUR, 10 * HOUR, 0, {}, 'ann'],
    ['names nobody from its end on', HOUR, 10 * HOUR, HOUR, {}, 401],
    ['names nobody when its authority has expired', 10 * HOUR, HOUR, 2 * HOUR, {}, 401],
    [
      'that has expired does not stand in the way of a token',
      HOUR,
      10 * HOUR,
      HOUR,
      { authorization: 'Bearer good' },
      'bob',
    ],
  ])('%s', async (_, leaf, authority, passed, headers, expected) => {
    now = NOW
    const socket = socketOf(leaf, authority)
    expect(await whoIs(socket)).toBe('ann')
    now = NOW + passed
    expect(await whoIs(socket, headers as Record<string, string>)).toBe(expected)
  })
})
