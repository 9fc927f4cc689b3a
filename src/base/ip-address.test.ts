import { isIP } from 'node:net'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  addressesOf,
  cidrContains,
  cidrContainsCIDR,
  cidrSize,
  cidrsOverlap,
  compareIPs,
  formatCIDR,
  formatIP,
  formatIPv4,
  formatIPv6,
  isGlobalUnicast,
  isIPv4Mapped,
  isLinkLocalMulticast,
  isLinkLocalUnicast,
  isLoopback,
  isUnspecified,
  parseCIDR,
  parseIP,
  parseIPv4,
  parseIPv6,
  parseSloppyCIDR,
  parseSloppyIP,
  unmapped,
} from './ip-address.ts'

const ip = (text: string) => parseIP(text)!
const cidr = (text: string) => parseCIDR(text)!

describe('addresses', () => {
  it.each([
    ['0.0.0.0', '0.0.0.0'],
    ['255.255.255.255', '255.255.255.255'],
    ['10.96.0.1', '10.96.0.1'],
    ['::', '::'],
    ['::1', '::1'],
    ['1::', '1::'],
    ['2001:DB8:0:0:0:0:0:1', '2001:db8::1'],
    ['2001:db8:0:1:0:0:0:1', '2001:db8:0:1::1'],
    ['2001:0db8::00ff', '2001:db8::ff'],
    ['1:0:0:2:0:0:3:4', '1::2:0:0:3:4'],
    ['1:0:2:3:4:5:6:7', '1:0:2:3:4:5:6:7'],
    ['0:1:2:3:4:5:6:7', '0:1:2:3:4:5:6:7'],
    ['1:2:3:4:5:6:7::', '1:2:3:4:5:6:7:0'],
    ['::2:3:4:5:6:7:8', '0:2:3:4:5:6:7:8'],
    ['::1.2.3.4', '::102:304'],
    ['::ffff:1.2.3.4', '::ffff:1.2.3.4'],
    ['::FFFF:102:304', '::ffff:1.2.3.4'],
    ['64:ff9b::192.0.2.33', '64:ff9b::c000:221'],
    ['1:2:3:4:5:6:1.2.3.4', '1:2:3:4:5:6:102:304'],
  ])('%s is printed as %s', (text, canonical) => {
    expect(formatIP(ip(text))).toBe(canonical)
  })

  it.each([
    '',
    '1',
    '1.2.3',
    '1.2.3.4.5',
    '1.2.3.',
    '.1.2.3',
    '1..2.3',
    '1.2.3.256',
    '1.2.3.04',
    '1.2.3.4 ',
    ' 1.2.3.4',
    '1.2.3.-4',
    '0x1.2.3.4',
    '1.2.3.4e0',
    ':',
    ':::',
    '1:2:3:4:5:6:7',
    '1:2:3:4:5:6:7:8:9',
    '1:2:3:4:5:6:7:8::',
    '1::2::3',
    ':1:2:3:4:5:6:7',
    '1:2:3:4:5:6:7:',
    '12345::',
    '::g',
    'fe80::1%eth0',
    '[::1]',
    '::1.2.3',
    '::1.2.3.04',
    '1.2.3.4::',
    '1:2:3:4:5:6:7:1.2.3.4',
    '::ffff:1.2.3.4:1',
  ])('%j is no address', (text) => {
    expect(parseIP(text)).toBeUndefined()
  })

  it.each([
    ['010.002.003.004', '10.2.3.4'],
    ['1.2.3.0000000255', '1.2.3.255'],
    ['::ffff:01.2.3.4', '::ffff:1.2.3.4'],
    ['00001::', '1::'],
    ['1.2.3.256', undefined],
    ['1.2.3.a', undefined],
  ])('sloppily, %s is %s', (text, canonical) => {
    const address = parseSloppyIP(text)
    expect(address && formatIP(address)).toBe(canonical)
  })

  it('takes exactly what the platform takes', () => {
    const part = fc.constantFrom('0', '1', '00', '255', '256', 'ffff', 'f', ':', '::', '.', '1.2.3.4', 'g', '')
    const text = fc.array(part, { maxLength: 17 }).map((parts) => parts.join(''))
    fc.assert(
      fc.property(text, (candidate) => {
        expect(parseIP(candidate) !== undefined).toBe(isIP(candidate) !== 0)
      }),
      { numRuns: 5000 },
    )
  })

  it('reads back what it prints', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 128n - 1n }), (value) => {
        expect(parseIPv6(formatIPv6(value))).toBe(value)
      }),
    )
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 32 - 1 }), (value) => {
        expect(parseIPv4(formatIPv4(value))).toBe(value)
      }),
    )
  })

  it('orders IPv4 before IPv6, then by number', () => {
    const texts = ['::1', '10.0.0.10', '10.0.0.9', '::', '9.255.255.255']
    const sorted = texts.map(ip).sort(compareIPs).map(formatIP)
    expect(sorted).toEqual(['9.255.255.255', '10.0.0.9', '10.0.0.10', '::', '::1'])
  })

  it.each([
    [isUnspecified, '0.0.0.0', true],
    [isUnspecified, '::', true],
    [isUnspecified, '0.0.0.1', false],
    [isLoopback, '127.8.9.1', true],
    [isLoopback, '::1', true],
    [isLoopback, '128.0.0.1', false],
    [isLoopback, '::2', false],
    [isLinkLocalUnicast, '169.254.169.254', true],
    [isLinkLocalUnicast, 'febf::1', true],
    [isLinkLocalUnicast, 'fec0::1', false],
    [isLinkLocalUnicast, '169.255.0.1', false],
    [isLinkLocalMulticast, '224.0.0.251', true],
    [isLinkLocalMulticast, '224.0.1.1', false],
    [isLinkLocalMulticast, 'ff02::1', true],
    [isLinkLocalMulticast, 'ff12::1', true],
    [isLinkLocalMulticast, 'ff05::1', false],
    [isIPv4Mapped, '::ffff:1.2.3.4', true],
    [isIPv4Mapped, '::1.2.3.4', false],
    [isIPv4Mapped, '1.2.3.4', false],
  ] as const)('%o of %s is %s', (test, text, expected) => {
    expect(test(ip(text))).toBe(expected)
  })

  it('unwraps a mapped address', () => {
    expect(formatIP(unmapped(ip('::ffff:1.2.3.4')))).toBe('1.2.3.4')
    expect(formatIP(unmapped(ip('::1')))).toBe('::1')
  })
})

describe('CIDRs', () => {
  it.each([
    ['10.96.0.0/12', '10.96.0.0/12', 2n ** 20n],
    ['10.0.0.7/24', '10.0.0.0/24', 256n],
    ['0.0.0.0/0', '0.0.0.0/0', 2n ** 32n],
    ['1.2.3.4/32', '1.2.3.4/32', 1n],
    ['fd00:10:96::/112', 'fd00:10:96::/112', 65536n],
    ['2001:DB8::1/64', '2001:db8::/64', 2n ** 64n],
    ['::/0', '::/0', 2n ** 128n],
    ['::1/128', '::1/128', 1n],
  ])('%s is %s with %s addresses', (text, canonical, size) => {
    expect(formatCIDR(cidr(text))).toBe(canonical)
    expect(cidrSize(cidr(text))).toBe(size)
  })

  it.each(['', '10.0.0.0', '10.0.0.0/', '/24', '10.0.0.0/33', '::/129', '10.0.0.0/08', '10.0.0.0/+8', '10.0.0.0/8/8'])(
    '%j is no CIDR',
    (text) => {
      expect(parseCIDR(text)).toBeUndefined()
    },
  )

  it('sloppily takes leading zeros', () => {
    expect(formatCIDR(parseSloppyCIDR('010.0.0.0/08')!)).toBe('10.0.0.0/8')
    expect(parseSloppyCIDR('10.0.0.0/033')).toBeUndefined()
  })

  it.each([
    ['10.0.0.0/8', '10.255.255.255', true],
    ['10.0.0.0/8', '11.0.0.0', false],
    ['::/0', '10.0.0.1', false],
    ['fd00::/8', 'fdff::1', true],
  ])('%s contains %s: %s', (range, address, expected) => {
    expect(cidrContains(cidr(range), ip(address))).toBe(expected)
  })

  it.each([
    ['10.0.0.0/8', '10.1.0.0/16', true, true],
    ['10.1.0.0/16', '10.0.0.0/8', false, true],
    ['10.0.0.0/9', '10.128.0.0/9', false, false],
    ['0.0.0.0/0', '::/0', false, false],
  ])('%s and %s: contains %s, overlaps %s', (a, b, contains, overlaps) => {
    expect(cidrContainsCIDR(cidr(a), cidr(b))).toBe(contains)
    expect(cidrsOverlap(cidr(a), cidr(b))).toBe(overlaps)
  })

  it('lists its addresses', () => {
    expect([...addressesOf(cidr('10.0.0.254/30'))].map(formatIP)).toEqual([
      '10.0.0.252',
      '10.0.0.253',
      '10.0.0.254',
      '10.0.0.255',
    ])
  })
})

describe('isGlobalUnicast', () => {
  it.each(['10.0.0.1', '172.30.0.2', '192.168.1.1', '100.64.0.1', '8.8.8.8', '240.0.0.1', 'fd00::1', '2001:db8::1'])(
    'takes %s',
    (text) => expect(isGlobalUnicast(parseIP(text)!)).toBe(true),
  )
  it.each(['::ffff:10.0.0.1', '64:ff9b::808:808', '2002:808:808::1'])('takes %s for the IPv4 address in it', (text) =>
    expect(isGlobalUnicast(parseIP(text)!)).toBe(true),
  )
  it.each([
    '0.0.0.0',
    '0.1.2.3',
    '127.0.0.1',
    '127.255.255.254',
    '169.254.169.254',
    '224.0.0.1',
    '239.255.255.255',
    '255.255.255.255',
    '::',
    '::1',
    '::7f00:1',
    'fe80::1',
    'febf::1',
    'fec0::1',
    'ff02::1',
    'ff0e::1',
    '::ffff:127.0.0.1',
    '::ffff:0.0.0.0',
    '::ffff:169.254.169.254',
    '::ffff:0:127.0.0.1',
    '64:ff9b::127.0.0.1',
    '64:ff9b::a9fe:a9fe',
    '64:ff9b:1::a00:1',
    '2002:7f00:1::1',
    '2002:a9fe:a9fe::',
    '2001::1',
  ])('refuses %s', (text) => expect(isGlobalUnicast(parseIP(text)!)).toBe(false))
})
