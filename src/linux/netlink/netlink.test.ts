import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { writeAddress } from '../rtnetlink/address-messages.ts'
import { writeNewLink } from '../rtnetlink/link-messages.ts'
import { writeForwardingEntry, writeNeighbour } from '../rtnetlink/neighbour-messages.ts'
import { writeRoute } from '../rtnetlink/route-messages.ts'
import { ipBytes, ipText, macBytes, macText, prefixBytes } from './addresses.ts'
import { refusalOf } from './netlink-error.ts'
import { attributesOf, be16In, be32In, be64In, messagesIn, textIn, u32In } from './reader.ts'
import { NetlinkWriter } from './writer.ts'

/** The bytes in hex, words apart. */
function written(write: (writer: NetlinkWriter) => void): string {
  const writer = new NetlinkWriter(8)
  write(writer)
  return writer.bytes.toString('hex', 0, writer.length).replace(/.{8}(?!$)/g, '$& ')
}

describe('the bytes of', () => {
  test.each<[string, (writer: NetlinkWriter) => void, string]>([
    ['a byte attribute', (w) => w.attributeU8(7, 1), '05000700 01000000'],
    ['a short attribute', (w) => w.attributeU16(1, 0x1234), '06000100 34120000'],
    ['a word attribute', (w) => w.attributeU32(4, 1450), '08000400 aa050000'],
    ['a short in network order', (w) => w.attributeBe16(15, 8472), '06000f00 21180000'],
    ['a word in network order', (w) => w.attributeBe32(2, 0xfffffffc), '08000200 fffffffc'],
    ['a negative word in network order', (w) => w.attributeBe32(2, -100), '08000200 ffffff9c'],
    ['a long in network order', (w) => w.attributeBe64(3, 258n), '0c000300 00000000 00000102'],
    ['a string', (w) => w.attributeString(3, 'eth0'), '09000300 65746830 00000000'],
    ['a string of three', (w) => w.attributeString(3, 'lo0'), '08000300 6c6f3000'],
    ['bytes', (w) => w.attributeBytes(1, Buffer.from([1, 2, 3, 4, 5])), '09000100 01020304 05000000'],
    ['a nest', (w) => w.nest(18, () => w.attributeU8(1, 2)), '0c001280 05000100 02000000'],
    ['a message', (w) => w.endMessage(w.beginMessage(16, 5, 9)), '10000000 10000500 09000000 00000000'],
    [
      'a bridge',
      (w) => writeNewLink(w, { kind: 'bridge', name: 'br0', up: true }),
      '00000000 00000000 01000000 01000000 08000300 62723000 10001280 0b000100 62726964 67650000',
    ],
    [
      'an IPv4 address',
      (w) => writeAddress(w, { link: 2, address: '10.244.0.5/24' }),
      '02180000 02000000 08000200 0af40005 08000100 0af40005 08000400 0af400ff',
    ],
    [
      'an IPv6 address without duplicate detection',
      (w) => writeAddress(w, { link: 2, address: 'fd00::5/64' }),
      '0a400200 02000000 14000200 fd000000 00000000 00000000 00000005 14000100 fd000000 00000000 00000000 00000005',
    ],
    [
      'a default route',
      (w) => writeRoute(w, { destination: '0.0.0.0/0', gateway: '10.244.0.1', link: 2 }, 'set'),
      '02000000 fe040001 00000000 08000500 0af40001 08000400 02000000',
    ],
    [
      'an onlink route',
      (w) => writeRoute(w, { destination: '10.1.0.0/16', gateway: '10.1.0.0', link: 3, onlink: true }, 'set'),
      '02100000 fe040001 04000000 08000100 0a010000 08000500 0a010000 08000400 03000000',
    ],
    [
      'a route in a table above 255',
      (w) => writeRoute(w, { destination: '10.1.0.0/16', link: 3, table: 1000 }, 'set'),
      '02100000 0004fd01 00000000 08000100 0a010000 08000f00 e8030000 08000400 03000000',
    ],
    [
      'a neighbour',
      (w) => writeNeighbour(w, { link: 3, address: '10.1.0.0', hardwareAddress: '0e:00:00:00:00:02' }),
      '02000000 03000000 80000000 08000100 0a010000 0a000200 0e000000 00020000',
    ],
    [
      'a forwarding entry',
      (w) => writeForwardingEntry(w, { link: 3, hardwareAddress: '0e:00:00:00:00:02', destination: '192.0.2.7' }),
      '07000000 03000000 80000200 0a000200 0e000000 00020000 08000100 c0000207',
    ],
  ])('%s', (_name, write, bytes) => {
    expect(written(write)).toBe(bytes)
  })

  test('an attribute that is too long', () => {
    const writer = new NetlinkWriter()
    const tooLong = () => writer.nest(1, () => writer.attributeBytes(2, Buffer.alloc(65_528)))
    expect(tooLong).toThrow('65535 is the limit')
  })
})

describe('reading', () => {
  test('what was written', () => {
    const writer = new NetlinkWriter(16)
    const first = writer.beginMessage(16, 1, 7)
    writer
      .attributeU32(1, 5)
      .attributeString(2, 'eth0')
      .attributeBe16(3, 80)
      .attributeBe32(4, 9)
      .attributeBe64(5, 1n << 40n)
    writer.endMessage(first)
    writer.endMessage(writer.beginMessage(3, 2, 8))
    const [one, two, ...more] = [...messagesIn(writer.bytes.subarray(0, writer.length))]
    expect(more).toEqual([])
    expect(two).toMatchObject({ type: 3, flags: 2, sequence: 8 })
    const attributes = attributesOf(one!.data)
    expect(u32In(attributes, 1)).toBe(5)
    expect(textIn(attributes, 2)).toBe('eth0')
    expect(be16In(attributes, 3)).toBe(80)
    expect(be32In(attributes, 4)).toBe(9)
    expect(be64In(attributes, 5)).toBe(1n << 40n)
  })

  test('any bytes at all ends', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        const buffer = Buffer.from(bytes)
        for (const message of messagesIn(buffer)) attributesOf(message.data)
        attributesOf(buffer)
      }),
    )
  })

  test.each<[string, number, string, object | undefined]>([
    ['an acknowledgement', 0x100, '00000000 10000000 14000500 07000000 00000000', undefined],
    ['an errno', 0x100, 'efffffff 10000000 14000500 07000000 00000000', { errno: 17, sequence: 7 }],
    [
      'an errno with the words of the kernel',
      0x300,
      'efffffff 10000000 14000500 07000000 00000000 08000200 24000000 09000100 6e6f7065 00000000',
      { errno: 17, sequence: 7, text: 'nope', offset: 36 },
    ],
  ])('%s', (_name, flags, hex, refusal) => {
    const data = Buffer.from(hex.replaceAll(' ', ''), 'hex')
    expect(refusalOf({ type: 2, flags, sequence: 7, data })).toEqual(refusal)
  })
})

describe('addresses', () => {
  test.each(['10.244.0.5', '255.255.255.255', 'fd00:10:244::5', '::1', '::'])('%s there and back', (text) => {
    expect(ipText(ipBytes(text))).toBe(text)
  })

  test.each(['', '10.1', '1.2.3.256', 'fd00:::1', 'host'])('%j is none', (text) => {
    expect(() => ipBytes(text)).toThrow('no IP address')
  })

  test.each(['10.0.0.0/33', '10.0.0.0/-1', '10.0.0.0/x', '::/129'])('%s is no CIDR', (text) => {
    expect(() => prefixBytes(text)).toThrow('no CIDR')
  })

  test('hardware addresses', () => {
    expect(macText(macBytes('0e:00:00:00:00:0A'))).toBe('0e:00:00:00:00:0a')
    expect(() => macBytes('0e:00:00:00:00')).toThrow('no hardware address')
  })
})
