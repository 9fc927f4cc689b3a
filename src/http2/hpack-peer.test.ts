import { once } from 'node:events'
import { type ClientHttp2Session, connect, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http2'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { HeaderDecoder } from './header-decoder.ts'
import { type AnswerHeaders, answerHeaders } from './header-encoder.ts'
import { huffmanEncode } from './huffman.fixture.ts'

const PREFACE_BYTES = 24
const FRAME_HEAD_BYTES = 9
const [HEADERS, SETTINGS] = [1, 4]
const [ACK, END_STREAM, END_HEADERS, PADDED, PRIORITY] = [0x1, 0x1, 0x4, 0x8, 0x20]

function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(FRAME_HEAD_BYTES)
  head.writeUIntBE(payload.length, 0, 3)
  head[3] = type
  head[4] = flags
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

/** As much of HTTP/2 as it takes to get header blocks from Node's client and to it. */
class Peer {
  blocks: { bytes: Buffer; fields: string[] }[] = []
  answer: [number, AnswerHeaders] = [200, {}]

  readonly server = createServer((socket) => {
    const decoder = new HeaderDecoder({ tableBytes: 4096, listBytes: 64 * 1024 })
    let waiting = Buffer.alloc(0)
    let skip = PREFACE_BYTES
    socket.write(frame(SETTINGS, 0, 0, Buffer.alloc(0)))
    socket.on('error', () => {})
    socket.on('data', (chunk: Buffer) => {
      waiting = Buffer.concat([waiting, chunk])
      if (waiting.length < skip) return
      waiting = waiting.subarray(skip)
      skip = 0
      while (waiting.length >= FRAME_HEAD_BYTES) {
        const end = FRAME_HEAD_BYTES + waiting.readUIntBE(0, 3)
        if (waiting.length < end) return
        this.#take(socket, decoder, waiting.subarray(0, end))
        waiting = waiting.subarray(end)
      }
    })
  })

  #take(socket: Socket, decoder: HeaderDecoder, bytes: Buffer): void {
    const [type, flags, stream] = [bytes[3], bytes[4]!, bytes.readUInt32BE(5)]
    if (type === SETTINGS && !(flags & ACK)) socket.write(frame(SETTINGS, ACK, 0, Buffer.alloc(0)))
    if (type !== HEADERS) return
    expect(flags & (END_HEADERS | PADDED)).toBe(END_HEADERS)
    const block = bytes.subarray(FRAME_HEAD_BYTES + (flags & PRIORITY ? 5 : 0))
    this.blocks.push({ bytes: block, fields: decoder.decode(block) })
    socket.write(frame(HEADERS, END_STREAM | END_HEADERS, stream, answerHeaders(...this.answer)))
  }
}

describe("Node's own HTTP/2 client", () => {
  const peer = new Peer()
  let session: ClientHttp2Session

  beforeAll(async () => {
    await once(peer.server.listen(0, '127.0.0.1'), 'listening')
    session = connect(`http://127.0.0.1:${(peer.server.address() as AddressInfo).port}`)
  })
  afterAll(() => {
    session.destroy()
    peer.server.close()
  })

  async function exchange(headers: OutgoingHttpHeaders): Promise<IncomingHttpHeaders> {
    const stream = session.request(headers)
    const [answer] = (await once(stream, 'response')) as [IncomingHttpHeaders]
    await once(stream.resume(), 'close')
    return answer
  }

  /** Sends it, and returns what arrived, and as which bytes. */
  async function send(headers: OutgoingHttpHeaders) {
    await exchange(headers)
    const { fields, bytes } = peer.blocks.at(-1)!
    const arrived: Record<string, string> = {}
    for (let i = 0; i < fields.length; i += 2) arrived[fields[i]!] = fields[i + 1]!
    return { arrived, bytes }
  }

  it('has its requests read, by the table from the second one on', async () => {
    const token = `Bearer ${'eyJhbGciOiJSUzI1NiIsImtpZCI6IlhYWFpaWiJ9.'.repeat(22)}`
    const common = { ':method': 'GET', 'user-agent': 'kubectl/v1.33.0 (linux/amd64)', accept: 'application/json' }
    const sizes: number[] = []
    for (let i = 0; i < 20; i++) {
      const headers = {
        ...common,
        ':path': `/api/v1/namespaces/default/pods/pod-${i}`,
        authorization: token,
        'x-n': `${i}`,
      }
      const { arrived, bytes } = await send(headers)
      expect(arrived).toMatchObject(headers)
      sizes.push(bytes.length)
    }
    expect(sizes[1]).toBeLessThan(sizes[0]! - 30)
  })

  it('has every byte read that it may send', async () => {
    const [printable, above] = [
      Array.from({ length: 95 }, (_, i) => 0x20 + i),
      Array.from({ length: 128 }, (_, i) => 0x80 + i),
    ]
    for (const code of [9, ...printable, ...above]) {
      // So many short codes before it make Huffman coding pay, whatever the length of this one.
      const value = `${'a'.repeat(60)}${String.fromCharCode(code)}${'e'.repeat(code % 8)}o`
      const { arrived, bytes } = await send({ 'x-byte': value })
      expect(arrived['x-byte']).toBe(value)
      expect(bytes.includes(huffmanEncode(value))).toBe(true)
    }
  })

  it('has its table read while fields come and go', async () => {
    for (let i = 0; i < 300; i++) {
      const headers = { [`x-${i % 70}`]: `${i % 7}`.repeat((i * 37) % 400), 'x-same': 'v', [`y-${i % 5}`]: 'w' }
      expect((await send(headers)).arrived).toMatchObject(headers)
    }
  })

  it.each<[number, AnswerHeaders]>([
    [
      200,
      {
        'Content-Type': 'application/json',
        'content-length': 0,
        'audit-id': '5c8e',
        'cache-control': 'no-cache, private',
      },
    ],
    [201, { location: `/${'x'.repeat(200)}`, 'x-long': 'y'.repeat(5000), 'x-empty': '', 'x-none': undefined }],
    [404, { [`x-${'n'.repeat(200)}`]: 'z', 'x-tab': 'a\tb' }],
    [409, {}],
    [429, { 'retry-after': 1, connection: 'close', ':path': '/', 'x-evil': ' a\r\nb\0c\n' }],
  ])('reads answer %i', async (status, headers) => {
    peer.answer = [status, headers]
    const answer = await exchange({})
    const expected: Record<string, unknown> = { ':status': status }
    for (const [name, value] of Object.entries(headers)) {
      if (value !== undefined && name !== 'connection' && name !== ':path') expected[name.toLowerCase()] = String(value)
    }
    if (status === 429) expected['x-evil'] = 'a  b c'
    expect(Object.entries(answer).sort()).toEqual(Object.entries(expected).sort())
  })

  it('reads many values and UTF-8', async () => {
    peer.answer = [200, { 'set-cookie': ['a=1', 'b=2'], warning: '299 - "schön ⛵"', bytes: 'schön' }]
    const answer = await exchange({})
    expect(answer['set-cookie']).toEqual(['a=1', 'b=2'])
    expect(Buffer.from(answer.warning as string, 'latin1').toString()).toBe('299 - "schön ⛵"')
    // What others sent us as bytes goes on as those bytes.
    expect(answer.bytes).toBe('schön')
  })
})
