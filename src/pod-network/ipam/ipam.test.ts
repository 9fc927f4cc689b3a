import { describe, expect, test } from 'vitest'
import { AddressPool } from './address-pool.ts'
import { PodAddresses } from './pod-addresses.ts'

describe('a pool of addresses', () => {
  test.each([
    ['10.244.1.0/24', '10.244.1.1', '10.244.1.2', 253],
    ['10.244.1.0/30', '10.244.1.1', '10.244.1.2', 1],
    ['10.244.1.64/28', '10.244.1.65', '10.244.1.66', 13],
    ['fd00::/126', 'fd00::1', 'fd00::2', 2],
  ])('%s has the gateway %s, begins with %s and has room for %d', (cidr, gateway, first, room) => {
    const pool = new AddressPool(cidr)
    expect(pool.gateway).toBe(gateway)
    const given = Array.from({ length: room }, () => pool.allocate())
    expect(given[0]).toBe(first)
    expect(new Set(given).size).toBe(room)
    expect(given).not.toContain(undefined)
    expect(pool.allocate()).toBeUndefined()
  })

  test.each(['10.244.1.0/31', '10.244.1.0/32', 'fd00::/128', 'nonsense', '10.244.1.0'])('%s is none', (cidr) => {
    expect(() => new AddressPool(cidr)).toThrow(cidr)
  })

  test('an address rests as long as possible before it is given again', () => {
    const pool = new AddressPool('10.0.0.0/29')
    const first = pool.allocate()!
    pool.release(first)
    const others = Array.from({ length: 4 }, () => pool.allocate())
    expect(others).toEqual(['10.0.0.3', '10.0.0.4', '10.0.0.5', '10.0.0.6'])
    expect(pool.allocate()).toBe(first)
  })

  test('what is taken is not given, and the next follow it', () => {
    const pool = new AddressPool('10.0.0.0/29')
    expect(pool.take('10.0.0.3')).toBe(true)
    expect(pool.take('10.0.1.3')).toBe(false)
    expect([pool.allocate(), pool.allocate(), pool.allocate(), pool.allocate()]).toEqual([
      '10.0.0.4',
      '10.0.0.5',
      '10.0.0.6',
      '10.0.0.2',
    ])
  })

  test('a large range is no large amount of memory or time', () => {
    const pool = new AddressPool('fd00::/48')
    for (let i = 0; i < 1000; i++) pool.allocate()
    expect(pool.allocate()).toBe('fd00::3ea')
  })
})

describe('the addresses of pods', () => {
  test('one of each family', () => {
    expect(new PodAddresses(['10.244.1.0/24', 'fd00:1::/64']).allocate()).toEqual(['10.244.1.2', 'fd00:1::2'])
  })

  test('all or nothing', () => {
    const addresses = new PodAddresses(['10.244.1.0/24', 'fd00:1::/126'])
    addresses.allocate()
    addresses.allocate()
    expect(() => addresses.allocate()).toThrow('no address is free')
    expect(addresses.pools.map(({ used }) => used)).toEqual([2, 2])
  })
})
