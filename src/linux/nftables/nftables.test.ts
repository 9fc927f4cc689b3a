import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { messagesIn } from '../netlink/reader.ts'
import { NetlinkWriter } from '../netlink/writer.ts'
import { NftTransaction } from '../nft-transaction.ts'
import { decodeValues, encodeValues, type NftType, type NftValue } from '../nft-values.ts'
import type { NftSet } from '../nftables.ts'
import { readPacket } from './kernel-nft-trace.ts'
import { joinRanges, readElements, readRule } from './object-reader.ts'
import { writeBatch } from './object-writer.ts'

const table = { family: 'ip', name: 't' } as const

function batch(transaction: NftTransaction, generation?: number) {
  const writer = new NetlinkWriter(16)
  const operations = writeBatch(writer, transaction.operations, generation)
  return { operations, messages: [...messagesIn(Buffer.from(writer.bytes.subarray(0, writer.length)))] }
}

const words = (bytes: Buffer) => bytes.toString('hex').replace(/.{8}(?!$)/g, '$& ')

describe('a transaction as messages', () => {
  test.each<[string, (t: NftTransaction) => unknown, number, string]>([
    ['a table', (t) => t.addTable(table), 0xa00, '02000000 06000100 74000000'],
    ['a chain', (t) => t.addChain({ table, name: 'c' }), 0xa03, '02000000 06000100 74000000 06000300 63000000'],
    [
      'a base chain',
      (t) => t.addChain({ table, name: 'c', base: { type: 'nat', hook: 'prerouting', priority: -100 } }),
      0xa03,
      '02000000 06000100 74000000 06000300 63000000 14000480 08000100 00000000 08000200 ffffff9c 08000700 6e617400 08000500 00000001',
    ],
    [
      'a rule',
      (t) => t.addRule({ table, name: 'c' }, { expressions: [{ expr: 'verdict', verdict: 'drop' }] }),
      0xa06,
      '02000000 06000100 74000000 06000200 63000000 34000480 30000180 0e000100 696d6d65 64696174 65000000 1c000280 08000100 00000000 10000280 0c000280 08000100 00000000',
    ],
    [
      'a rule by handle',
      (t) => t.deleteRule({ table, name: 'c' }, 5n),
      0xa08,
      '02000000 06000100 74000000 06000200 63000000 0c000300 00000000 00000005',
    ],
    [
      'a verdict map',
      (t) => t.addSet({ table, name: 's', key: ['ipv4_addr', 'inet_service'], data: 'verdict' }),
      0xa09,
      '02000000 06000100 74000000 06000200 73000000 08000300 00000008 08000400 000001cd 08000500 00000008 08000600 ffffff00 08000700 00000010 08000a00 00000001',
    ],
    [
      'an element',
      (t) => t.addElements({ table, name: 's', key: ['inet_service'] }, [{ key: Buffer.from([0, 80]) }]),
      0xa0c,
      '02000000 06000100 74000000 06000200 73000000 14000380 10000180 0c000180 06000100 00500000',
    ],
    [
      'a range as its first and the one after its last',
      (t) =>
        t.addElements({ table, name: 's', key: ['inet_service'], interval: true }, [
          { key: Buffer.from([0, 80]), keyEnd: Buffer.from([0, 255]) },
        ]),
      0xa0c,
      '02000000 06000100 74000000 06000200 73000000 2c000380 10000180 0c000180 06000100 00500000 18000180 0c000180 06000100 01000000 08000300 00000001',
    ],
  ])('%s', (_name, change, type, bytes) => {
    const transaction = new NftTransaction()
    change(transaction)
    const { messages } = batch(transaction)
    expect(messages.map((message) => message.type)).toEqual([0x10, type, 0x11])
    expect(words(messages[1]!.data)).toBe(bytes)
  })

  test('a generation stands at the beginning', () => {
    const { messages } = batch(new NftTransaction().addTable(table), 42)
    expect(words(messages[0]!.data)).toBe('0000000a 08000100 0000002a')
  })

  test('long lists of elements take several messages of one operation', () => {
    const set: NftSet = { table, name: 's', key: ['ipv4_addr'] }
    const elements = Array.from({ length: 10_000 }, (_, i) => ({
      key: encodeValues(['ipv4_addr'], [`10.0.${i >> 8}.${i & 255}`]),
    }))
    const { messages, operations } = batch(new NftTransaction().addTable(table).addElements(set, elements))
    expect(messages.length).toBeGreaterThan(4)
    expect(operations.slice(0, 2)).toEqual([undefined, 0])
    expect(new Set(operations.slice(2))).toEqual(new Set([1]))
    const read: Parameters<typeof readElements>[1] = []
    for (const message of messages) if (message.type === 0xa0c) readElements(message, read)
    expect(joinRanges(read, set)).toEqual(elements)
  })

  test('comments have a limit', () => {
    const rule = { expressions: [], comment: 'x'.repeat(128) }
    expect(() => batch(new NftTransaction().addRule({ table, name: 'c' }, rule))).toThrow('127 is the limit')
  })
})

describe('values', () => {
  test.each<[NftType[], NftValue[], string]>([
    [['inet_service'], [443], '01bb'],
    [['mark'], [0x4000], '00400000'],
    [['ipv4_addr', 'inet_proto', 'inet_service'], ['10.96.0.1', 6, 443], '0a600001 06000000 01bb0000'],
    [['ipv6_addr', 'mark'], ['fd00::1', 2], 'fd000000 00000000 00000000 00000001 02000000'],
    [['ether_addr', 'inet_proto'], ['02:00:00:00:00:05', 17], '02000000 00050000 11000000'],
    [['ifname'], ['cni0'], '636e6930 00000000 00000000 00000000'],
  ])('%j %j', (types, values, hex) => {
    const bytes = encodeValues(types, values)
    expect(words(bytes)).toBe(hex)
    expect(decodeValues(types, bytes)).toEqual(values)
  })

  test.each<[NftType[], NftValue[]]>([
    [['ipv4_addr'], ['fd00::1']],
    [['ipv6_addr'], ['10.0.0.1']],
    [['inet_service'], [65536]],
    [['ipv4_addr', 'mark'], ['10.0.0.1']],
  ])('%j is not %j', (types, values) => {
    expect(() => encodeValues(types, values)).toThrow()
  })
})

test('rules and packets of any bytes are read without harm', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 120 }), fc.uint8Array({ maxLength: 60 }), (bytes, more) => {
      readPacket(Buffer.from(bytes), Buffer.from(more))
      readRule({ type: 0xa06, flags: 0, sequence: 0, data: Buffer.from(bytes) })
    }),
  )
})
