import type { Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { type ConnectionState, ConnectionWatch, type WatchVerdict } from './connection-watch.ts'
import * as h2 from './frames.ts'
import type { Http2Stream } from './stream.ts'
import { serve } from './testing.ts'

const NOTHING: ConnectionState = { streams: 0, lastStream: 0, reads: 0, isUnfinished: false }

/** What is found at each look. */
const verdicts = (...states: readonly Partial<ConnectionState>[]): WatchVerdict[] => {
  const watch = new ConnectionWatch()
  return states.map((state) => watch.look({ ...NOTHING, ...state }))
}

const times = <T>(count: number, one: (i: number) => T) => Array.from({ length: count }, (_, i) => one(i))

describe('a connection', () => {
  it('without a request is idle after six looks, whatever else it sends', () => {
    expect(verdicts(...times(6, (i) => ({ reads: i })))).toEqual([...times(5, () => 'keep'), 'idle'])
  })

  it('with a request between the looks is not idle', () => {
    expect(verdicts(...times(20, (i) => ({ lastStream: 2 * i + 1, reads: i })))).toEqual(times(20, () => 'keep'))
  })

  it('is idle again after its last stream has ended', () => {
    const watching = times(10, (i) => ({ streams: 1, lastStream: 1, reads: i }))
    const after = times(6, () => ({ lastStream: 1, reads: 9 }))
    expect(verdicts(...watching, ...after).at(-1)).toBe('idle')
    expect(verdicts(...watching, ...after).slice(0, -1)).toEqual(times(15, () => 'keep'))
  })

  it('with open streams that says nothing is asked for a sign of life, and given up without one', () => {
    const silent = times(6, () => ({ streams: 1, lastStream: 1, reads: 1 }))
    expect(verdicts(...silent)).toEqual(['keep', 'keep', 'ping', 'keep', 'silent', 'silent'])
  })

  it('that answers the ping is kept', () => {
    const states = times(20, (i) => ({ streams: 1, lastStream: 1, reads: Math.floor(i / 3) + 1 }))
    expect(new Set(verdicts(...states))).toEqual(new Set(['keep', 'ping']))
  })

  it('that never ends its headers is slow', () => {
    expect(verdicts(...times(3, (i) => ({ isUnfinished: true, reads: i })))).toEqual(['keep', 'keep', 'slow'])
  })

  it('that sends headers each time is not slow', () => {
    const states = times(9, (i) => ({ isUnfinished: true, lastStream: 2 * i + 1, reads: i }))
    expect(verdicts(...states)).toEqual(times(9, () => 'keep'))
  })
})

const HELLO = Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), h2.settingsFrame([[4, 0]])])
const GET = Buffer.from([0x82, 0x87, 0x84])

/** A connection that was looked at so often, and what came of it. */
async function looked(bytes: readonly Buffer[], looks: number, onRequest: (stream: Http2Stream) => void) {
  const streams: Http2Stream[] = []
  await using server = await serve((stream) => {
    streams.push(stream)
    onRequest(stream)
  })
  const socket = await server.raw()
  const seen: string[] = []
  const reader = new h2.FrameReader((type, _, __, payload) => {
    if (type === h2.GOAWAY) seen.push(`goaway: ${payload.subarray(8)}`)
    if (type === h2.RST_STREAM) seen.push('reset')
    if (type === h2.PING) seen.push('ping')
  })
  socket.on('data', (chunk: Buffer) => reader.read(chunk))
  socket.write(Buffer.concat([HELLO, ...bytes]))
  await until(() => server.served.length === 1 && (bytes.length === 0 || streams.length > 0))
  await settled(socket)
  for (let i = 0; i < looks; i++) server.served[0]!.look()
  await settled(socket)
  return seen
}

const settled = async (socket: Socket) => {
  for (let i = 0; i < 20 && !socket.destroyed; i++) await new Promise((resolve) => setTimeout(resolve, 5))
}
const until = async (isTrue: () => boolean) => {
  while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 5))
}

const BODY = Buffer.from('an answer')
const request = (flags: number) => h2.frame(h2.HEADERS, flags | h2.END_HEADERS, 1, GET)
const wait = () => {}

describe('looks at a connection', () => {
  it('end one that is idle', async () => {
    expect(await looked([], 9, wait)).toEqual(['goaway: the connection is idle'])
  })

  it('leave a stream alone that only listens, as a watch does', async () => {
    const watch = (stream: Http2Stream) => {
      stream.respond(200, {})
      stream.write(BODY)
    }
    expect(await looked([request(h2.END_STREAM)], 3, watch)).toEqual(['ping'])
  })

  it('break off an answer that the client does not take', async () => {
    const answer = (stream: Http2Stream) => stream.respond(200, {}, BODY)
    expect(await looked([request(h2.END_STREAM)], 5, answer)).toContain('reset')
  })

  it('break off a request whose body does not come', async () => {
    let asked: Http2Stream | undefined
    await using server = await serve((stream) => {
      asked = stream
    })
    const socket = await server.raw()
    socket.resume()
    socket.write(Buffer.concat([HELLO, request(0)]))
    await until(() => asked !== undefined)
    for (let i = 0; i < 19; i++) asked!.look()
    expect(asked!.destroyed).toBe(false)
    asked!.look()
    expect(asked!.destroyed).toBe(true)
  })
})
