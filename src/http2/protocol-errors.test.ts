import type { Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { seededRandom } from '../base/random.ts'
import * as h2 from './frames.ts'
import type { Http2Stream } from './stream.ts'
import { serve } from './testing.ts'

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
const EMPTY = Buffer.alloc(0)
const SETTINGS = h2.settingsFrame([])
const HELLO = Buffer.concat([PREFACE, SETTINGS])

/** :method GET, :scheme https, :path / by their places in the static table. */
const GET = [0x82, 0x87, 0x84]
const field = (name: string, value: string) => [
  0,
  name.length,
  ...Buffer.from(name),
  value.length,
  ...Buffer.from(value),
]
const headers = (id: number, block: number[], flags = h2.END_HEADERS | h2.END_STREAM) =>
  h2.frame(h2.HEADERS, flags, id, Buffer.from(block))
const OPEN = h2.END_HEADERS
const data = (id: number, bytes: Buffer, flags = 0) => h2.frame(h2.DATA, flags, id, bytes)

interface Frame {
  readonly type: number
  readonly flags: number
  readonly id: number
  readonly payload: Buffer
}

/** Everything that comes back until the connection is closed, or the answer to a ping that was sent last. */
function framesOf(socket: Socket): Promise<Frame[]> {
  return new Promise((resolve) => {
    const frames: Frame[] = []
    const reader = new h2.FrameReader((type, flags, id, payload) => {
      frames.push({ type, flags, id, payload })
      if (type === h2.PING && payload.equals(LAST)) resolve(frames)
    })
    socket.on('data', (chunk) => reader.read(chunk))
    socket.on('close', () => resolve(frames))
  })
}

const LAST = Buffer.from('the last')

/** What becomes of a connection whose client sends this. */
async function outcome(bytes: readonly Buffer[], onRequest: (stream: Http2Stream) => void = ok): Promise<string> {
  await using server = await serve(onRequest)
  const socket = await server.raw()
  const frames = framesOf(socket)
  socket.write(Buffer.concat([...bytes, h2.frame(h2.PING, 0, 0, LAST)]))
  const seen = await frames
  const goAway = seen.find(({ type }) => type === h2.GOAWAY)
  if (goAway) return `connection: ${goAway.payload.readUInt32BE(4)}`
  const reset = seen.find(({ type }) => type === h2.RST_STREAM)
  if (reset) return `stream ${reset.id}: ${reset.payload.readUInt32BE(0)}`
  return `${seen.filter(({ type }) => type === h2.HEADERS).length} answered`
}

const ok = (stream: Http2Stream) => stream.respond(200, {}, EMPTY)
const wait = () => {}

describe('the rules of RFC 9113', () => {
  it.each<[string, Buffer[], string, ((stream: Http2Stream) => void)?]>([
    ['a request', [HELLO, headers(1, GET)], '1 answered'],
    ['no preface', [Buffer.from('GET / HTTP/1.1\r\nhost: example.com\r\n\r\n')], 'connection: 1'],
    ['no settings first', [PREFACE, headers(1, GET)], 'connection: 1'],
    ['a frame larger than allowed', [HELLO, data(1, Buffer.alloc(16_385))], 'connection: 6'],
    ['unknown frames are nothing', [HELLO, h2.frame(0x77, 0xff, 5, Buffer.alloc(9)), headers(1, GET)], '1 answered'],
    ['unknown settings are nothing', [PREFACE, h2.settingsFrame([[0x77, 1]]), headers(1, GET)], '1 answered'],
    ['a priority of a stream is nothing', [HELLO, h2.frame(h2.PRIORITY, 0, 3, Buffer.alloc(5))], '0 answered'],
    ['a short priority', [HELLO, h2.frame(h2.PRIORITY, 0, 3, Buffer.alloc(4))], 'stream 3: 6'],
    ['an even stream', [HELLO, headers(2, GET)], 'connection: 1'],
    ['stream 0', [HELLO, headers(0, GET)], 'connection: 1'],
    ['data of no stream', [HELLO, data(1, EMPTY)], 'connection: 1'],
    ['data of stream 0', [HELLO, data(0, EMPTY)], 'connection: 1'],
    ['a reset of no stream', [HELLO, h2.numbersFrame(h2.RST_STREAM, 1, 8)], 'connection: 1'],
    ['a window of no stream', [HELLO, h2.numbersFrame(h2.WINDOW_UPDATE, 1, 8)], 'connection: 1'],
    ['data after the end', [HELLO, headers(1, GET), data(1, EMPTY)], 'stream 1: 5', wait],
    ['data of a stream that is over', [HELLO, headers(1, GET), data(1, Buffer.alloc(9))], '1 answered'],
    [
      'padding',
      [HELLO, headers(1, GET, OPEN), data(1, Buffer.from([2, 65, 0, 0]), h2.PADDED | 1)],
      '1 answered',
      whole,
    ],
    [
      'more padding than payload',
      [HELLO, headers(1, GET, OPEN), data(1, Buffer.from([9, 65]), h2.PADDED)],
      'connection: 1',
      wait,
    ],
    ['an update by nothing', [HELLO, h2.numbersFrame(h2.WINDOW_UPDATE, 0, 0)], 'connection: 1'],
    [
      'an update of a stream by nothing',
      [HELLO, headers(1, GET), h2.numbersFrame(h2.WINDOW_UPDATE, 1, 0)],
      'stream 1: 1',
      wait,
    ],
    ['a window too large', [HELLO, h2.numbersFrame(h2.WINDOW_UPDATE, 0, 2 ** 31 - 1)], 'connection: 3'],
    [
      'a window of a stream too large',
      [HELLO, headers(1, GET), h2.numbersFrame(h2.WINDOW_UPDATE, 1, 2 ** 31 - 1)],
      'stream 1: 3',
      wait,
    ],
    ['a long window update', [HELLO, h2.numbersFrame(h2.WINDOW_UPDATE, 0, 1, 1)], 'connection: 6'],
    ['an initial window too large', [PREFACE, h2.settingsFrame([[4, 2 ** 31]])], 'connection: 3'],
    ['frames too small', [PREFACE, h2.settingsFrame([[5, 16_383]])], 'connection: 1'],
    ['settings of a stream', [HELLO, h2.frame(h2.SETTINGS, 0, 1, EMPTY)], 'connection: 1'],
    ['settings of five bytes', [HELLO, h2.frame(h2.SETTINGS, 0, 0, Buffer.alloc(5))], 'connection: 6'],
    ['an acknowledgement with settings', [HELLO, h2.frame(h2.SETTINGS, h2.ACK, 0, Buffer.alloc(6))], 'connection: 6'],
    ['a ping of seven bytes', [HELLO, h2.frame(h2.PING, 0, 0, Buffer.alloc(7))], 'connection: 6'],
    ['a ping of a stream', [HELLO, h2.frame(h2.PING, 0, 1, Buffer.alloc(8))], 'connection: 1'],
    ['a push', [HELLO, h2.frame(h2.PUSH_PROMISE, 0, 1, Buffer.alloc(8))], 'connection: 1'],
    ['a continuation of nothing', [HELLO, h2.frame(h2.CONTINUATION, 4, 1, EMPTY)], 'connection: 1'],
    [
      'headers in parts',
      [HELLO, headers(1, [0x82], 1), h2.frame(h2.CONTINUATION, 4, 1, Buffer.from([0x87, 0x84]))],
      '1 answered',
    ],
    ['something between the parts', [HELLO, headers(1, [0x82], 1), SETTINGS], 'connection: 1'],
    [
      'headers without end',
      [HELLO, headers(1, GET, 1), ...Array(100).fill(h2.frame(h2.CONTINUATION, 0, 1, EMPTY))],
      'connection: 11',
    ],
    ['headers of another table', [HELLO, headers(1, [0xff])], 'connection: 9'],
    [
      'trailers that do not end',
      [HELLO, headers(1, GET, OPEN), headers(1, field('a', 'b'), OPEN)],
      'stream 1: 1',
      wait,
    ],
    [
      'a body of another length',
      [HELLO, headers(1, [...GET, ...field('content-length', '3')], OPEN), data(1, Buffer.alloc(2), 1)],
      'stream 1: 1',
      wait,
    ],
    [
      'a body longer than announced, before it ends',
      [HELLO, headers(1, [...GET, ...field('content-length', '3')], OPEN), data(1, Buffer.alloc(4))],
      'stream 1: 1',
      wait,
    ],
    ['no body where one is announced', [HELLO, headers(1, [...GET, ...field('content-length', '3')])], 'stream 1: 1'],
    [
      'trailers with a length',
      [HELLO, headers(1, GET, OPEN), headers(1, field('content-length', '3'))],
      'stream 1: 1',
      wait,
    ],
    ['no path', [HELLO, headers(1, [0x82, 0x87])], 'stream 1: 1'],
    ['two methods', [HELLO, headers(1, [0x82, ...GET])], 'stream 1: 1'],
    ['an unknown pseudo-header', [HELLO, headers(1, [...GET, ...field(':nope', 'x')])], 'stream 1: 1'],
    ['a pseudo-header after others', [HELLO, headers(1, [0x82, 0x87, ...field('a', 'b'), 0x84])], 'stream 1: 1'],
    ['upper case', [HELLO, headers(1, [...GET, ...field('Accept', 'x')])], 'stream 1: 1'],
    ['a header of the connection', [HELLO, headers(1, [...GET, ...field('connection', 'close')])], 'stream 1: 1'],
    ['te', [HELLO, headers(1, [...GET, ...field('te', 'gzip')])], 'stream 1: 1'],
    ['te: trailers', [HELLO, headers(1, [...GET, ...field('te', 'trailers')])], '1 answered'],
    ['a line break in a value', [HELLO, headers(1, [...GET, ...field('a', 'b\r\nc: d')])], 'stream 1: 1'],
    [
      'more streams than allowed',
      [HELLO, ...Array.from({ length: 101 }, (_, i) => headers(2 * i + 1, GET))],
      'stream 201: 7',
      wait,
    ],
    ['a farewell', [HELLO, headers(1, GET), h2.frame(h2.GOAWAY, 0, 0, Buffer.alloc(8))], '1 answered'],
  ])('%s', async (_, bytes, expected, onRequest) => {
    expect(await outcome(bytes, onRequest)).toBe(expected)
  })

  it.each<[string, Buffer]>([
    ['pings', h2.frame(h2.PING, 0, 0, Buffer.alloc(8))],
    ['settings', SETTINGS],
    ['priorities', h2.frame(h2.PRIORITY, 0, 1, Buffer.alloc(5))],
    ['what nobody knows', h2.frame(0x77, 0, 1, EMPTY)],
  ])('thousands of %s are too many', async (_, frame) => {
    expect(await outcome([HELLO, ...Array(3000).fill(frame)])).toBe('connection: 11')
  })

  it('thousands of requests that are taken back are too many', async () => {
    const rapid = Array.from({ length: 3000 }, (_, i) => [
      headers(2 * i + 1, GET),
      h2.numbersFrame(h2.RST_STREAM, 2 * i + 1, 8),
    ])
    expect(await outcome([HELLO, ...rapid.flat()], wait)).toBe('connection: 11')
  })

  it('more data than allowed ends a stream', async () => {
    const full = Array(65).fill(data(1, Buffer.alloc(16_384)))
    expect(await outcome([HELLO, headers(1, GET, OPEN), ...full], wait)).toBe('stream 1: 3')
  })
})

it('hands on no byte beyond the announced length, and breaks the body off', async () => {
  const read: string[] = []
  await outcome(
    [
      HELLO,
      headers(1, [...GET, ...field('content-length', '3')], OPEN),
      data(1, Buffer.from('ab')),
      data(1, Buffer.from('cd')),
    ],
    (stream) =>
      stream.read({
        data: (chunk) => read.push(String(chunk)),
        end: () => read.push('end'),
        broken: () => read.push('broken'),
      }),
  )
  expect(read).toEqual(['ab', 'broken'])
})

it('whatever comes, the connection is served or ended', async () => {
  const random = seededRandom(7)
  const integer = (below: number) => Math.floor(random.next() * below)
  const valid = [headers(1, GET), data(1, Buffer.alloc(10)), SETTINGS, h2.numbersFrame(h2.WINDOW_UPDATE, 0, 5)]
  for (let round = 0; round < 200; round++) {
    const frames = Array.from({ length: 1 + integer(10) }, () => {
      const bytes = Buffer.from(valid[integer(valid.length)]!)
      for (let i = integer(4); i > 0; i--) bytes[integer(bytes.length)] = integer(256)
      // Not so long that the rest of the round is its payload.
      bytes[0] = 0
      bytes[1] = 0
      return bytes
    })
    await using server = await serve(ok)
    const socket = await server.raw()
    socket.end(Buffer.concat([HELLO, ...frames]))
    await framesOf(socket)
  }
})

function whole(stream: Http2Stream): void {
  const read: Buffer[] = []
  const end = () => stream.respond(String(Buffer.concat(read)) === 'A' ? 200 : 500, {}, EMPTY)
  stream.read({ data: (chunk) => read.push(chunk), end, broken: wait })
}
