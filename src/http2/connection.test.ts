import { once } from 'node:events'
import type { ClientHttp2Session, ClientHttp2Stream, OutgoingHttpHeaders } from 'node:http2'
import { connect, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { Http2Stream } from './stream.ts'
import { bodyOf, serve } from './testing.ts'

/** Answers with the body of the request, in one piece. */
async function echo(stream: Http2Stream): Promise<void> {
  const body = await bodyOf(stream).catch(() => undefined)
  if (body) stream.respond(200, { 'content-length': body.length, path: stream.headers[':path']! }, body)
}

const pattern = (size: number) => Buffer.from(Array.from({ length: size }, (_, i) => (i * 7) % 251))

interface Answer {
  headers: Record<string, unknown>
  body: Buffer
}

async function ask(session: ClientHttp2Session, headers: OutgoingHttpHeaders, body?: Buffer): Promise<Answer> {
  const request = session.request({ ':method': body ? 'POST' : 'GET', ...headers })
  return answerOf(request, body)
}

async function answerOf(request: ClientHttp2Stream, body?: Buffer): Promise<Answer> {
  request.end(body)
  const [headers] = (await once(request, 'response')) as [Record<string, unknown>]
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return { headers, body: Buffer.concat(chunks) }
}

describe('with the client of Node', () => {
  it.each([0, 1, 8192, 8193, 16_384, 16_385, 65_535, 65_536, 1_048_577, 5_000_000])(
    'a body of %i bytes comes and goes',
    async (size) => {
      await using server = await serve(echo)
      const sent = pattern(size)
      const { headers, body } = await ask(server.client(), { ':path': '/x' }, sent)
      expect([headers[':status'], headers.path, body.equals(sent)]).toEqual([200, '/x', true])
    },
  )

  it('hundreds of requests at once, more than there are streams', async () => {
    await using server = await serve(echo)
    const session = server.client()
    await once(session, 'remoteSettings')
    const bodies = Array.from({ length: 300 }, (_, i) => pattern(i * 100))
    const answers = await Promise.all(bodies.map((body, i) => ask(session, { ':path': `/${i}` }, body)))
    for (const [i, { headers, body }] of answers.entries())
      expect([headers.path, body.equals(bodies[i]!)]).toEqual([`/${i}`, true])
  })

  it('large answers to many at once do not get mixed up, also where nothing encrypts them at once', async () => {
    const pieceOf = (path: string) => Buffer.alloc(200_000, `${path} `)
    await using server = await serve((stream) => {
      const piece = pieceOf(stream.headers[':path']!)
      stream.respond(200, {})
      const write = (left: number): void => (left === 0 ? stream.end() : stream.write(piece, () => write(left - 1)))
      write(40)
    })
    const clients = Array.from({ length: 12 }, () => server.client({ settings: { initialWindowSize: 8 << 20 } }))
    for (const client of clients) client.once('connect', () => client.setLocalWindowSize(1 << 30))
    const answers = await Promise.all(clients.map((client, i) => ask(client, { ':path': `/${i}` })))
    const isWhole = ({ body }: Answer, i: number) => body.equals(Buffer.concat(Array(40).fill(pieceOf(`/${i}`))))
    expect(answers.map(isWhole)).toEqual(clients.map(() => true))
  })

  it('a client with small windows and large frames gets all of it, in order', async () => {
    await using server = await serve(echo)
    for (const settings of [{ initialWindowSize: 777 }, { initialWindowSize: 3_000_000, maxFrameSize: 1_000_000 }]) {
      const sent = pattern(600_000)
      const { body } = await ask(server.client({ settings }), { ':path': '/' }, sent)
      expect(body.equals(sent)).toBe(true)
    }
  })

  it('headers of many frames, both ways', async () => {
    await using server = await serve((stream) => {
      stream.respond(200, { long: stream.headers.long as string, many: ['a', 'b'] }, Buffer.from('x'))
    })
    const session = server.client({ maxSendHeaderBlockLength: 1_000_000, settings: { maxHeaderListSize: 200_000 } })
    const long = 'é!'.repeat(20_000)
    const { headers } = await ask(session, { ':path': '/', long })
    expect([headers.long === long, headers.many]).toEqual([true, 'a, b'])
  })

  it('a client that keeps no headers is told that none are kept', async () => {
    await using server = await serve(echo)
    const session = server.client({ settings: { headerTableSize: 0 } })
    for (const path of ['/a', '/b']) expect((await ask(session, { ':path': path })).headers.path).toBe(path)
  })

  it('an answer to HEAD has headers only', async () => {
    await using server = await serve((stream) => {
      stream.respond(200, { 'content-length': 5 }, Buffer.from('hello'))
    })
    const { headers, body } = await ask(server.client(), { ':method': 'HEAD', ':path': '/' })
    expect([headers['content-length'], body.length]).toEqual(['5', 0])
  })

  it('who asks whether to go on is told to', async () => {
    await using server = await serve(echo)
    const request = server
      .client()
      .request({ ':method': 'POST', ':path': '/', expect: '100-continue' }, { endStream: false })
    await once(request, 'continue')
    expect((await answerOf(request, Buffer.from('gone on'))).body.toString()).toBe('gone on')
  })

  it('trailers end a request', async () => {
    await using server = await serve(echo)
    const request = server.client().request({ ':method': 'POST', ':path': '/' }, { endStream: false })
    const trailed = server.client().request({ ':method': 'POST', ':path': '/' }, { waitForTrailers: true } as object)
    trailed.on('wantTrailers', () => trailed.sendTrailers({ check: 'sum' }))
    expect((await answerOf(trailed, Buffer.from('with'))).body.toString()).toBe('with')
    expect((await answerOf(request, Buffer.from('without'))).body.toString()).toBe('without')
  })

  it('an answer before the end of the request ends it too', async () => {
    await using server = await serve((stream) => stream.respond(413, {}, Buffer.from('too large')))
    const session = server.client()
    const request = session.request({ ':method': 'POST', ':path': '/' }, { endStream: false })
    request.on('error', () => {})
    request.write(pattern(100_000))
    const [headers] = (await once(request, 'response')) as [Record<string, unknown>]
    expect(headers[':status']).toBe(413)
    request.resume()
    await once(request, 'close')
    expect(request.rstCode).toBe(0)
    // And the connection goes on, its window whole.
    for (let i = 0; i < 100; i++)
      expect((await ask(session, { ':path': '/' }, pattern(60_000))).headers[':status']).toBe(413)
  })

  it('two large answers share a connection, and a small one overtakes them', async () => {
    const ended: string[] = []
    await using server = await serve((stream) => {
      const path = stream.headers[':path']!
      stream.respond(200, {}, path === '/small' ? Buffer.from('x') : pattern(2_000_000))
    })
    const session = server.client()
    const get = (path: string) => ask(session, { ':path': path }).then(() => ended.push(path))
    await Promise.all([get('/large'), get('/larger'), get('/small')])
    expect(ended[0]).toBe('/small')
  })

  it('pings are answered', async () => {
    await using server = await serve(echo)
    const session = server.client()
    await once(session, 'connect')
    const [payload] = await new Promise<[Buffer]>((resolve, reject) => {
      session.ping(Buffer.from('8 bytes!'), (error, _, bytes) => (error ? reject(error) : resolve([bytes])))
    })
    expect(String(payload)).toBe('8 bytes!')
  })
})

describe('a client that', () => {
  it('goes away closes its streams', async () => {
    const streams: Http2Stream[] = []
    await using server = await serve((stream) => {
      streams.push(stream)
      stream.respond(200, {})
    })
    const session = server.client()
    const first = session.request({ ':path': '/' })
    const second = session.request({ ':path': '/' })
    for (const request of [first, second]) request.on('error', () => {})
    await Promise.all([once(first, 'response'), once(second, 'response')])
    first.close(8)
    await expect.poll(() => streams.map(({ destroyed }) => destroyed)).toEqual([true, false])
    const closed = new Promise<void>((resolve) => streams[1]!.once('close', resolve))
    session.destroy()
    await closed
    const error = await new Promise((resolve) => streams[1]!.write(Buffer.from('x'), resolve))
    expect(error).toBeInstanceOf(Error)
  })

  it('breaks off its body is known to have done so', async () => {
    const bodies: Promise<unknown>[] = []
    await using server = await serve((stream) => {
      bodies.push(bodyOf(stream).catch((error: Error) => error.message))
    })
    const request = server.client().request({ ':method': 'POST', ':path': '/' }, { endStream: false })
    request.on('error', () => {})
    request.write('half', () => setImmediate(() => request.destroy(new Error('gone'))))
    await expect.poll(() => bodies.length).toBe(1)
    expect(await bodies[0]).toBe('broken')
  })

  it('does not read leaves what it is sent in its stream, and gets it all when it reads', async () => {
    const streams: Http2Stream[] = []
    const whole = pattern(6_000_000)
    await using server = await serve((stream) => {
      streams.push(stream)
      stream.respond(200, {}, whole)
    })
    const request = server.client().request({ ':path': '/' })
    await once(request, 'response')
    await sleep(50)
    expect(streams[0]!.writableLength).toBeGreaterThan(whole.length / 2)
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    expect(Buffer.concat(chunks).equals(whole)).toBe(true)
  })

  it('is not read does not fill our memory', async () => {
    const streams: Http2Stream[] = []
    await using server = await serve((stream) => void streams.push(stream))
    const request = server.client().request({ ':method': 'POST', ':path': '/' }, { endStream: false })
    const sent = pattern(4_000_000)
    request.end(sent)
    await expect.poll(() => streams.length).toBe(1)
    await sleep(50)
    expect(server.connections[0]!.bytesRead).toBeLessThan(1_200_000)
    expect((await bodyOf(streams[0]!)).equals(sent)).toBe(true)
  })
})

it.each([1, 2, 7, 23, 1000])('bytes may come in pieces of %i', async (size) => {
  await using server = await serve(echo)
  // Between the client and the server sits somebody who hands on a few bytes at a time.
  const between = createServer((socket) => {
    const out = connect({ port: server.port, host: '127.0.0.1', noDelay: true })
    out.pipe(socket)
    for (const end of [socket, out]) end.on('error', () => {})
    socket.on('close', () => out.destroy())
    socket.on('data', async (chunk: Buffer) => {
      socket.pause()
      for (let at = 0; at < chunk.length; at += size) {
        out.write(chunk.subarray(at, at + size))
        await new Promise(setImmediate)
      }
      socket.resume()
    })
  }).listen(0, '127.0.0.1')
  await once(between, 'listening')
  const socket = connect((between.address() as { port: number }).port, '127.0.0.1')
  const session = server.client({ createConnection: () => socket })
  const sent = pattern(3000)
  for (let i = 0; i < 2; i++) expect((await ask(session, { ':path': '/' }, sent)).body.equals(sent)).toBe(true)
  socket.destroy()
  between.close()
})
