import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { VirtualClock } from '../../base/virtual-clock.ts'
import type { Handler } from './handle.ts'
import type { Listening } from './listen.ts'
import { listenTcp } from './tcp.ts'

const clock = new VirtualClock()
const waiting = new Map<string, (answer: Buffer) => void>()
/** Answers `now…` at once, `late…` when told, anything else never. */
const handle: Handler = (packet) => {
  const text = String(packet)
  if (text.startsWith('now')) return Buffer.from(`${text}!`)
  if (!text.startsWith('late')) return undefined
  return new Promise((resolve) => waiting.set(text, resolve))
}

let server: Listening
let socket: Socket
let received: string[] = []

beforeEach(async () => {
  waiting.clear()
  received = []
  server = await listenTcp({ host: '127.0.0.1', port: 0 }, handle, clock)
  socket = connect(server.port, '127.0.0.1')
  await once(socket, 'connect')
  let pending = Buffer.alloc(0)
  socket.on('data', (chunk: Buffer) => {
    pending = Buffer.concat([pending, chunk])
    while (pending.length >= 2 && pending.length >= 2 + pending.readUInt16BE(0)) {
      received.push(String(pending.subarray(2, 2 + pending.readUInt16BE(0))))
      pending = pending.subarray(2 + pending.readUInt16BE(0))
    }
  })
})

afterEach(async () => {
  socket.destroy()
  await server[Symbol.asyncDispose]()
})

const framed = (text: string) => Buffer.concat([Buffer.from([text.length >> 8, text.length & 255]), Buffer.from(text)])

describe('TCP', () => {
  it('answers many questions of one connection, each when it is known', async () => {
    socket.write(Buffer.concat(['now 1', 'late 1', 'now 2', 'late 2'].map(framed)))
    await vi.waitFor(() => expect(received).toEqual(['now 1!', 'now 2!']))
    waiting.get('late 2')!(Buffer.from('two'))
    waiting.get('late 1')!(Buffer.from('one'))
    await vi.waitFor(() => expect(received.slice(2)).toEqual(['two', 'one']))
  })

  it('takes a question in pieces', async () => {
    for (const byte of framed('now')) {
      socket.write(Buffer.from([byte]))
      await new Promise(setImmediate)
    }
    await vi.waitFor(() => expect(received).toEqual(['now!']))
  })

  it('works on so many at a time, and on the others after them', async () => {
    socket.write(Buffer.concat(Array.from({ length: 100 }, (_, i) => framed(`late ${i}`))))
    await vi.waitFor(() => expect(waiting.size).toBe(64))
    await new Promise(setImmediate)
    expect(waiting.size).toBe(64)
    for (const [text, answer] of waiting) answer(Buffer.from(text))
    await vi.waitFor(() => expect(waiting.size).toBe(100))
    for (const [text, answer] of waiting) answer(Buffer.from(text))
    await vi.waitFor(() => expect(new Set(received).size).toBe(100))
  })

  it('closes a connection on which nothing is asked', async () => {
    socket.write(framed('now'))
    await vi.waitFor(() => expect(received).toHaveLength(1))
    clock.advance(9000)
    socket.write(framed('now'))
    await vi.waitFor(() => expect(received).toHaveLength(2))
    clock.advance(9000)
    socket.write(framed('now'))
    await vi.waitFor(() => expect(received).toHaveLength(3))
    const closed = once(socket, 'close')
    clock.advance(10_000)
    await closed
  })

  it('closes everything at the end', async () => {
    const closed = once(socket, 'close')
    await server[Symbol.asyncDispose]()
    await closed
    server = { port: 0, async [Symbol.asyncDispose]() {} }
  })
})
