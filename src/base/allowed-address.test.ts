import { describe, expect, it } from 'vitest'
import { ELSEWHERE, ELSEWHERE_OR_HERE } from './allowed-address.ts'

type Found = readonly [error: string | undefined, address: unknown]

const look = (rule: typeof ELSEWHERE, name: string, all: boolean): Promise<Found> =>
  new Promise((resolve) => rule.lookup(name, { all }, (error, address) => resolve([error?.message, address])))

describe('a host', () => {
  it.each([
    ['10.0.0.1', true, true],
    ['fd00::1', true, true],
    ['example.com', true, true],
    ['127.0.0.1', false, true],
    ['::1', false, true],
    ['::ffff:127.0.0.1', false, true],
    ['0.0.0.0', false, false],
    ['169.254.169.254', false, false],
    ['::ffff:169.254.169.254', false, false],
    ['fe80::1', false, false],
    ['fe80::1%eth0', false, false],
    ['', false, false],
  ])('%s is allowed elsewhere: %s, here too: %s', (host, elsewhere, here) => {
    expect([ELSEWHERE.allows(host), ELSEWHERE_OR_HERE.allows(host)]).toEqual([elsewhere, here])
  })
})

describe('a name', () => {
  // Each of these is this machine, in words that are no address until they are looked up.
  it.each(['localhost', '127.1', '0x7f.0.0.1', '2130706433'])('%s does not lead to this machine', async (name) => {
    expect((await look(ELSEWHERE, name, true))[0]).toBeDefined()
    expect((await look(ELSEWHERE, name, false))[0]).toBeDefined()
  })

  it('leads to this machine where that is allowed', async () => {
    expect(await look(ELSEWHERE_OR_HERE, 'localhost', false)).toEqual([
      undefined,
      expect.stringMatching(/^(127\.|::1$)/),
    ])
  })

  it('does not lead to every address of this machine at once', async () => {
    expect((await look(ELSEWHERE_OR_HERE, '0', true))[0]).toBe('address not allowed')
  })
})
