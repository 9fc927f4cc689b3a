import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { type Duplex, Readable } from 'node:stream'
import { buffer, text } from 'node:stream/consumers'
import { deflateSync } from 'node:zlib'
import { afterEach, describe, expect, test } from 'vitest'
import { SPDY_DICTIONARY } from './spdy/dictionary.ts'
import { controlFrame, dataFrame, FrameReader, FrameType } from './spdy/frame.ts'
import { HeaderDecoder, HeaderEncoder } from './spdy/header-block.ts'
import { type SpdyConnection, type SpdyStream, spdyConnection } from './spdy.ts'

const cleanUps: (() => void)[] = []
afterEach(() => {
  for (const cleanUp of cleanUps.splice(0)) cleanUp()
})

async function socketPair(): Promise<[Socket, Socket]> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect((server.address() as { port: number }).port, '127.0.0.1')
  const [accepted] = (await once(server, 'connection')) as [Socket]
  cleanUps.push(() => {
    client.destroy()
    accepted.destroy()
    server.close()
  })
  return [client, accepted]
}

/** Two ends of a connection; the server answers each stream as `serve` does. */
async function pair(serve: (stream: SpdyStream) => boolean): Promise<SpdyConnection> {
  const [near, far] = await socketPair()
  spdyConnection(far, { role: 'server', onStream: serve })
  return spdyConnection(near, { role: 'client' })
}

const echo = (stream: SpdyStream) => {
  stream.pipe(stream)
  return true
}

describe('header blocks', () => {
  test('the dictionary is the one everybody has', () => {
    // Adler-32, which zlib puts into the stream.
    expect(deflateSync('', { dictionary: SPDY_DICTIONARY }).subarray(2, 6).toString('hex')).toBe('e3c6a7c2')
  })

  test('what is written is read, block after block', () => {
    const encoder = new HeaderEncoder()
    const decoder = new HeaderDecoder()
    const blocks: Record<string, string>[] = [{ streamtype: 'error' }, { streamtype: 'data', port: '80' }, {}]
    for (const headers of blocks) expect(decoder.decode(encoder.encode(headers))).toEqual(headers)
  })

  test.each([
    ['longer than the block', Buffer.from([0, 0, 0, 1, 0, 0, 0, 9, 65])],
    ['cut short', Buffer.from([0, 0, 0])],
  ])('a header that is %s is refused', (_, bytes) => {
    const block = new HeaderEncoder().encode({})
    const stored = Buffer.alloc(5)
    stored.writeUInt16LE(bytes.length, 1)
    stored.writeUInt16LE(~bytes.length & 0xffff, 3)
    expect(() => new HeaderDecoder().decode(Buffer.concat([block.subarray(0, 2), stored, bytes]))).toThrow()
  })
})

test('frames are read whatever pieces they come in', () => {
  const seen: string[] = []
  const reader = new FrameReader({
    control: (type, _, body) => seen.push(`${type}:${body.toString('hex')}`),
    data: (id, part, isLast) => seen.push(`${id} ${part}${isLast ? '.' : ''}`),
  })
  const bytes = Buffer.concat([
    controlFrame(FrameType.PING, 0, 7),
    ...dataFrame(1, 0, Buffer.from('ab')),
    ...dataFrame(1, 1, Buffer.alloc(0)),
  ])
  for (const byte of bytes) reader.push(Buffer.from([byte]))
  expect(seen).toEqual(['6:00000007', '1 a', '1 b', '1 .'])
})

describe('streams', () => {
  test('carry headers and data both ways, and each direction ends by itself', async () => {
    const headers: unknown[] = []
    const connection = await pair((stream) => {
      headers.push(stream.headers)
      let said = ''
      stream.on('data', (part) => {
        said += part
      })
      stream.on('end', () => stream.end(`you said ${said}`))
      return true
    })
    const stream = connection.open({ streamType: 'data', port: '80' })
    stream.end('hello')
    expect(await text(stream)).toBe('you said hello')
    await stream.accepted
    expect(headers).toEqual([{ streamtype: 'data', port: '80' }])
    expect(connection.streamCount).toBe(0)
  })

  test('eight at once, 2 MB each there and back, unharmed', async () => {
    const connection = await pair(echo)
    await Promise.all(
      Array.from({ length: 8 }, async () => {
        const bytes = randomBytes(2 * 1024 * 1024)
        const stream = connection.open({})
        Readable.from([bytes]).pipe(stream)
        const back = await buffer(stream)
        expect(md5(back)).toBe(md5(bytes))
      }),
    )
  })

  test('one that is refused says so', async () => {
    const connection = await pair(() => false)
    const stream = connection.open({})
    const closed = once(stream, 'close')
    await expect(stream.accepted).rejects.toThrow('reset (3)')
    await closed
    expect(connection.streamCount).toBe(0)
  })

  test('end with the connection', async () => {
    const connection = await pair((stream) => stream.write('x'))
    const stream = connection.open({})
    await once(stream, 'data')
    connection.destroy()
    await Promise.all([connection.closed, once(stream, 'close')])
  })

  test('close() waits for those that are open', async () => {
    const connection = await pair(echo)
    const stream = connection.open({})
    connection.close()
    stream.end('last words')
    expect(await text(stream)).toBe('last words')
    await connection.closed
  })
})

describe('windows', () => {
  /** Talks frames by hand; what comes is counted by stream. */
  async function byHand() {
    const [near, far] = await socketPair()
    const received = new Map<number, number>()
    const updates: number[] = []
    let onData = () => {}
    const reader = new FrameReader({
      control(type, _, body) {
        if (type === FrameType.WINDOW_UPDATE) updates.push(body.readUInt32BE(0))
      },
      data(id, part) {
        received.set(id, (received.get(id) ?? 0) + part.length)
        onData()
      },
    })
    near.on('data', (chunk: Buffer) => reader.push(chunk))
    const until = (isSo: () => boolean) =>
      new Promise<void>((resolve) => {
        onData = () => isSo() && resolve()
        onData()
      })
    const encoder = new HeaderEncoder()
    const open = (id: number) =>
      near.write(controlFrame(FrameType.SYN_STREAM, 0, id, 0, Buffer.alloc(2), encoder.encode({})))
    return { near, far, received, updates, until, open }
  }

  test('a peer that keeps none gets everything', async () => {
    const { far, open, received, until } = await byHand()
    spdyConnection(far, { role: 'server', onStream: (stream) => stream.end(Buffer.alloc(1_000_000)) !== undefined })
    open(1)
    await until(() => received.get(1) === 1_000_000)
  })

  test('a peer that keeps them gets no more than fits', async () => {
    const { near, far, open, received, until } = await byHand()
    spdyConnection(far, { role: 'server', onStream: (stream) => stream.end(Buffer.alloc(1_000_000)) !== undefined })
    const setting = Buffer.from([0, 0, 0, 7])
    near.write(controlFrame(FrameType.SETTINGS, 0, 1, setting, 10_000))
    open(1)
    await until(() => received.get(1) === 10_000)
    await pinged(near)
    expect(received.get(1)).toBe(10_000)
    near.write(controlFrame(FrameType.WINDOW_UPDATE, 0, 1, 990_000))
    await until(() => received.get(1) === 1_000_000)
  })

  test('are refilled as data is read, and not before', async () => {
    const { near, far, open, updates } = await byHand()
    let accepted: Duplex | undefined
    const onStream = (stream: SpdyStream) => {
      accepted = stream
      return true
    }
    spdyConnection(far, { role: 'server', onStream })
    open(1)
    for (let i = 0; i < 8; i++) near.write(Buffer.concat(dataFrame(1, 0, Buffer.alloc(64 * 1024))))
    await pinged(near)
    const before = updates.length
    accepted!.resume()
    await pinged(near)
    expect(updates.length).toBeGreaterThan(before)
    expect(updates).toContain(0)
    expect(updates).toContain(1)
  })

  /** Everything sent before has been dealt with. */
  async function pinged(socket: Socket): Promise<void> {
    const back = new Promise<void>((resolve) => {
      const reader = new FrameReader({
        control: (type) => type === FrameType.PING && resolve(),
        data: () => {},
      })
      socket.on('data', (chunk: Buffer) => {
        try {
          reader.push(chunk)
        } catch {
          // It began to read in the middle of a frame.
        }
      })
    })
    socket.write(controlFrame(FrameType.PING, 0, 3))
    await back
    await new Promise((resolve) => setImmediate(resolve))
  }
})

test('bytes that are no SPDY close the connection', async () => {
  const [near, far] = await socketPair()
  const connection = spdyConnection(far, { role: 'server' })
  near.on('error', () => {})
  near.write(Buffer.from('80ff000000000000', 'hex'))
  await connection.closed
})

const md5 = (bytes: Buffer) => createHash('md5').update(bytes).digest('hex')

test('a peer that sends pings and never reads the answers is cut off', async () => {
  const [near, far] = await socketPair()
  const session = spdyConnection(far, { role: 'server', onStream: () => true })
  near.pause()
  near.on('error', () => {})
  const pings = Buffer.concat(Array.from({ length: 5000 }, () => controlFrame(FrameType.PING, 0, 1)))
  const send = () => {
    if (!near.destroyed) near.write(pings, send)
  }
  send()
  await session.closed
  expect(far.destroyed).toBe(true)
})
