import { describe, expect, it } from 'vitest'
import { addressTowards, assertFamilyOfPods } from './own-address.ts'

describe('addressTowards', () => {
  it('is the one that packets leave with', async () => {
    expect(await addressTowards(new URL('https://127.0.0.1:6443'))).toBe('127.0.0.1')
    expect(await addressTowards(new URL('https://localhost:6443'))).toBe('127.0.0.1')
  })
})

describe('assertFamilyOfPods', () => {
  const v4 = ['10.244.0.0/16']
  const both = [...v4, 'fd00:10:244::/56']
  it.each([
    ['192.0.2.1', v4],
    ['192.0.2.1', both],
    ['2001:db8::1', both],
  ])('%s among %j', (address, clusterCidrs) =>
    expect(() => assertFamilyOfPods(address, { clusterCidrs })).not.toThrow(),
  )

  it('refuses an address that other nodes could not use', () => {
    const refused = () => assertFamilyOfPods('2001:db8::1', { clusterCidrs: v4 })
    expect(refused).toThrow('nodes of this cluster reach each other by IPv4, not by 2001:db8::1')
  })
})
