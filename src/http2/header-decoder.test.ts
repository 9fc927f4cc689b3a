import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { HeaderDecoder, HeadersTooLargeError, HpackError } from './header-decoder.ts'
import { fieldSize, STATIC_TABLE } from './hpack-tables.ts'
import { huffmanEncode } from './huffman.fixture.ts'

const LIMITS = { tableBytes: 4096, listBytes: 64 * 1024 }
const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex')
const decoder = (limits: Partial<typeof LIMITS> = {}) => new HeaderDecoder({ ...LIMITS, ...limits })

/** `name: value` lines. */
function lines(fields: string[]): string[] {
  return fields.flatMap((name, i) => (i % 2 === 0 ? [`${name}: ${fields[i + 1]}`] : []))
}

describe('RFC 7541, appendix C', () => {
  it.each([
    ['400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572', 'custom-key: custom-header'],
    ['040c 2f73 616d 706c 652f 7061 7468', ':path: /sample/path'],
    ['1008 7061 7373 776f 7264 0673 6563 7265 74', 'password: secret'],
    ['82', ':method: GET'],
  ])('C.2: %s', (block, line) => {
    expect(lines(decoder().decode(hex(block)))).toEqual([line])
  })

  const REQUESTS = [
    [':method: GET', ':scheme: http', ':path: /', ':authority: www.example.com'],
    [':method: GET', ':scheme: http', ':path: /', ':authority: www.example.com', 'cache-control: no-cache'],
    [':method: GET', ':scheme: https', ':path: /index.html', ':authority: www.example.com', 'custom-key: custom-value'],
  ]
  const [SOON, LATER] = ['date: Mon, 21 Oct 2013 20:13:21 GMT', 'date: Mon, 21 Oct 2013 20:13:22 GMT']
  const LOCATION = 'location: https://www.example.com'
  const ANSWERS = [
    [':status: 302', 'cache-control: private', SOON, LOCATION],
    [':status: 307', 'cache-control: private', SOON, LOCATION],
    [
      ':status: 200',
      'cache-control: private',
      LATER,
      LOCATION,
      'content-encoding: gzip',
      'set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1',
    ],
  ]

  it.each([
    {
      name: 'C.3: requests',
      tableBytes: 4096,
      blocks: [
        '8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d',
        '8286 84be 5808 6e6f 2d63 6163 6865',
        '8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65',
      ],
      fields: REQUESTS,
    },
    {
      name: 'C.4: requests, Huffman coded',
      tableBytes: 4096,
      blocks: [
        '8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff',
        '8286 84be 5886 a8eb 1064 9cbf',
        '8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf',
      ],
      fields: REQUESTS,
    },
    {
      name: 'C.5: answers, with a table that soon is full',
      tableBytes: 256,
      blocks: [
        '4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3120 474d' +
          '546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d',
        '4803 3330 37c1 c0bf',
        '88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 677a 6970 7738 666f' +
          '6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 553b 206d 6178 2d61 6765 3d33 3630' +
          '303b 2076 6572 7369 6f6e 3d31',
      ],
      fields: ANSWERS,
    },
    {
      name: 'C.6: answers, Huffman coded',
      tableBytes: 256,
      blocks: [
        '4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718 63c7' +
          '8f0b 97c8 e9ae 82ae 43d3',
        '4883 640e ffc1 c0bf',
        '88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 e6c7 b335' +
          'dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07',
      ],
      fields: ANSWERS,
    },
  ])('$name', ({ tableBytes, blocks, fields }) => {
    const reader = decoder({ tableBytes })
    expect(blocks.map((block) => lines(reader.decode(hex(block))))).toEqual(fields)
  })
})

describe('HeaderDecoder', () => {
  it.each([
    ['index 0', '80', 'no field has number 0'],
    ['an index beyond an empty table', 'be', 'no field has number 62'],
    ['an index beyond both tables', '4001 6101 62 bf', 'no field has number 63'],
    ['an index beyond a table of as many fields as can be', `${'4000 00'.repeat(128)} ff3f`, 'no field has number 190'],
    ['a name beyond the table', '7e01 61', 'no field has number 62'],
    ['an index with nothing after its prefix', 'ff', 'within an integer'],
    ['an index that does not end', 'ff80 80', 'within an integer'],
    ['an integer of more than five bytes', 'ff80 8080 8080 00', 'too large'],
    ['an integer of 2^31', 'ff81 ffff ff07', 'too large'],
    ['an integer beyond 2^35', 'ffff ffff ff7f', 'too large'],
    ['a literal without a name', '00', 'before a string'],
    ['a literal without a value', '0001 61', 'before a string'],
    ['a literal of a known name without a value', '04', 'before a string'],
    ['a string that is cut off', '0001 6105 62', 'within a string'],
    ['a string of almost 2^31 bytes', '0001 617f 80ff ffff 07', 'within a string'],
    ['a length with nothing after its prefix', '0001 617f', 'within an integer'],
    ['a bad Huffman string', '0001 6181 00', 'Huffman'],
    ['a larger table than offered', '3fe2 1f', '4097 bytes'],
    ['another table size after a field', '8220', 'after a field'],
    ['a table size that is cut off', '3f', 'within an integer'],
  ])('refuses %s', (_, block, message) => {
    const refused = () => decoder().decode(hex(block))
    expect(refused).toThrow(HpackError)
    expect(refused).toThrow(message)
  })

  it('reads an integer of five bytes, though fewer would do', () => {
    expect(decoder().decode(hex(`0001 617f 8080 8080 00 ${'78'.repeat(127)}`))).toEqual(['a', 'x'.repeat(127)])
  })

  it.each([
    ['of the whole offer', '3fe1 1f 82', [':method: GET']],
    ['of nothing, and then more', '203f e11f 82', [':method: GET']],
    ['and nothing else', '20', []],
  ])('takes a table size %s', (_, block, fields) => {
    expect(lines(decoder().decode(hex(block)))).toEqual(fields)
  })

  it('begins with 4096 bytes of table, also where more is offered', () => {
    const reader = decoder({ tableBytes: 8192 })
    const field = Buffer.concat([hex('4001 61'), text('x'.repeat(4096))])
    reader.decode(field)
    expect(() => reader.decode(hex('be'))).toThrow(HpackError)
    reader.decode(Buffer.concat([hex('3fe1 3f'), field]))
    expect(reader.decode(hex('be'))).toEqual(['a', 'x'.repeat(4096)])
  })

  it('keeps the fields that just fit', () => {
    const [a, b, c] = ['4001 6101 78', '4001 6201 78', '4001 6301 78']
    const reader = decoder({ tableBytes: 2 * fieldSize('a', 'x') })
    expect(lines(reader.decode(hex(`${a}${b} bf`)))).toEqual(['a: x', 'b: x', 'a: x'])
    expect(lines(reader.decode(hex(`${c} bf`)))).toEqual(['c: x', 'b: x'])
    expect(() => reader.decode(hex('c0'))).toThrow(HpackError)
  })

  it('forgets all fields for one that is larger than the table', () => {
    const reader = decoder({ tableBytes: 64 })
    expect(reader.decode(hex('4001 6101 62 be'))).toEqual(['a', 'b', 'a', 'b'])
    const large = 'x'.repeat(100)
    expect(reader.decode(Buffer.concat([hex('7e'), text(large)]))).toEqual(['a', large])
    expect(() => reader.decode(hex('be'))).toThrow(HpackError)
  })

  it('reads a token that is sent again, longer, shorter and cut off', () => {
    const reader = decoder()
    const tokens = ['Bearer abc', 'Bearer abc', 'Bearer abcd', 'Bearer ab', 'Bearer ab', '', '', 'Bearer abc']
    for (const token of tokens) {
      for (const block of ['1f08', '57'].flatMap((start) => [
        Buffer.concat([hex(start), text(token)]),
        Buffer.concat([hex(start), text(token, true)]),
      ])) {
        expect(reader.decode(Buffer.concat([block, hex('82')]))).toEqual(['authorization', token, ':method', 'GET'])
        expect(reader.decode(block)).toEqual(['authorization', token])
        expect(() => reader.decode(block.subarray(0, -1))).toThrow(HpackError)
      }
    }
  })

  it('counts what fields take up that are named by number', () => {
    const size = fieldSize(':method', 'GET')
    const block = Buffer.alloc(3, 0x82)
    expect(decoder({ listBytes: 3 * size }).decode(block)).toHaveLength(6)
    expect(() => decoder({ listBytes: 3 * size - 1 }).decode(block)).toThrow(HeadersTooLargeError)
  })

  it('stops at the field that is too much', () => {
    const first = Buffer.concat([hex('4001 61'), text('x'.repeat(4000))])
    // The end would be an HpackError, had anybody come so far.
    const bomb = Buffer.concat([first, Buffer.alloc(1000, 0xbe), hex('80')])
    expect(() => decoder().decode(bomb)).toThrow(HeadersTooLargeError)
  })
})

function integer(value: number, bits: number, flags: number): Buffer {
  const most = (1 << bits) - 1
  if (value < most) return Buffer.of(flags | value)
  const bytes = [flags | most]
  let rest = value - most
  for (; rest >= 0x80; rest >>= 7) bytes.push((rest & 0x7f) | 0x80)
  return Buffer.from([...bytes, rest])
}

function text(value: string, isHuffman = false): Buffer {
  const bytes = isHuffman ? huffmanEncode(value) : Buffer.from(value, 'latin1')
  return Buffer.concat([integer(bytes.length, 7, isHuffman ? 0x80 : 0), bytes])
}

/** What a client might send for a field, by a table that is as simple as can be. */
class Client {
  #table: [string, string][] = []
  #maxSize = 4096

  resize(bytes: number): Buffer {
    this.#maxSize = bytes
    this.#evict()
    return integer(bytes, 5, 0x20)
  }

  field(name: string, value: string, way: 'index' | 'add' | 'plain' | 'never', isHuffman: boolean): Buffer {
    const all = [...STATIC_TABLE.map((field) => [field.name, field.value] as const), ...this.#table]
    const whole = all.findIndex((entry) => entry[0] === name && entry[1] === value) + 1
    if (way === 'index' && whole > 0) return integer(whole, 7, 0x80)
    const known = all.findIndex((entry) => entry[0] === name) + 1
    const [bits, flags] = { index: [6, 0x40], add: [6, 0x40], plain: [4, 0], never: [4, 0x10] }[way] as [number, number]
    if (bits === 6) this.#add(name, value)
    const nameBytes = known > 0 ? [] : [text(name, isHuffman)]
    return Buffer.concat([integer(known, bits, flags), ...nameBytes, text(value, isHuffman)])
  }

  #add(name: string, value: string): void {
    this.#table.unshift([name, value])
    this.#evict()
  }

  #evict(): void {
    const size = () => this.#table.reduce((sum, [name, value]) => sum + name.length + value.length + 32, 0)
    while (size() > this.#maxSize) this.#table.pop()
  }
}

describe('any blocks', () => {
  const field = fc.record({
    name: fc.constantFrom(':path', ':method', 'accept', 'authorization', 'x-a', 'x-b', 'x-c', ''),
    value: fc.oneof(
      fc.constantFrom('GET', '/', 'gzip, deflate', '', 'x'.repeat(126), 'y'.repeat(127), 'z'.repeat(500)),
      fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
    ),
    way: fc.constantFrom('index' as const, 'add' as const, 'plain' as const, 'never' as const),
    isHuffman: fc.boolean(),
  })
  const block = fc.record({
    sizes: fc.array(fc.constantFrom(0, 33, 100, 700, 4096), { maxLength: 2 }),
    fields: fc.array(field, { maxLength: 12 }),
  })

  it('are read as they were written', () => {
    fc.assert(
      fc.property(fc.array(block, { maxLength: 15 }), (blocks) => {
        const [client, reader] = [new Client(), decoder()]
        for (const { sizes, fields } of blocks) {
          const parts = sizes.map((size) => client.resize(size))
          for (const { name, value, way, isHuffman } of fields) parts.push(client.field(name, value, way, isHuffman))
          expect(reader.decode(Buffer.concat(parts))).toEqual(fields.flatMap(({ name, value }) => [name, value]))
        }
      }),
      { seed: 7, numRuns: 300 },
    )
  })

  const tryDecode = (reader: HeaderDecoder, bytes: Buffer) => {
    try {
      const fields = reader.decode(bytes)
      expect(fields.every((each) => typeof each === 'string')).toBe(true)
    } catch (error) {
      if (!(error instanceof HpackError) && !(error instanceof HeadersTooLargeError)) throw error
    }
  }

  it('of random bytes are read or refused', () => {
    const bytes = fc.uint8Array({ maxLength: 400 }).map((array) => Buffer.from(array))
    fc.assert(
      fc.property(fc.array(bytes, { maxLength: 5 }), (blocks) => {
        const reader = decoder()
        for (const each of blocks) tryDecode(reader, each)
      }),
      { seed: 7, numRuns: 2000 },
    )
  })

  it('with some bytes changed or cut off are read or refused', () => {
    const change = fc.tuple(fc.nat(), fc.nat({ max: 255 }))
    fc.assert(
      fc.property(
        fc.array(field, { minLength: 1, maxLength: 8 }),
        fc.array(change, { maxLength: 3 }),
        fc.nat(),
        (...args) => {
          const [fields, changes, cut] = args
          const client = new Client()
          const bytes = Buffer.concat(
            fields.map((each) => client.field(each.name, each.value, each.way, each.isHuffman)),
          )
          for (const [at, value] of changes) bytes[at % bytes.length] = value
          tryDecode(decoder(), bytes)
          tryDecode(decoder(), bytes.subarray(0, cut % bytes.length))
        },
      ),
      { seed: 7, numRuns: 1000 },
    )
  })
})
