import assert from 'node:assert'
import { EventEmitter } from 'node:events'
import type { TLSSocket } from 'node:tls'
import { VirtualClock } from '../../../src/base/virtual-clock.ts'
import { Http2Connection } from '../../../src/http2/connection.ts'
import { FrameReader } from '../../../src/http2/frames.ts'
import { inPieces } from '../engine/pieces.ts'
import type { FuzzTarget } from '../engine/target.ts'

/** What clients send first: the preface and empty settings. */
const START = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0', 'latin1')
const GOAWAY = 7

/** A client that sends anything after a good start. Nothing is thrown, and everything that is sent is frames. */
export const target: FuzzTarget = {
  steps: { fixed: 20_000, perByte: 300 },
  maxBytes: 2048,
  dictionary: [
    '\0\0\x04\x08\0\0\0\0\x01\0\0\xff\xff',
    '\0\0\x08\x06\0\0\0\0\0abcdefgh',
    '\0\0\x04\x01\x05\0\0\0\x01\x82\x84\x87\x41\x01a',
    '\0\0\x04\x01\x04\0\0\0\x03\x83\x84\x87\x41\x01a',
    '\0\0\x03\0\x01\0\0\0\x03abc',
    '\0\0\x04\x03\0\0\0\0\x01\0\0\0\x08',
    '\0\0\x06\x04\0\0\0\0\0\0\x04\x7f\xff\xff\xff',
    '\0\0\x02\x09\x04\0\0\0\x01\x82\x84',
  ],
  async run(input) {
    const socket = new SocketUnderTest()
    const requests: unknown[] = []
    new Http2Connection(socket as unknown as TLSSocket, new VirtualClock(), (stream) => {
      requests.push([stream.id, { ...stream.headers }])
      stream.read({ data: (chunk) => stream.consumed(chunk.length), end() {}, broken() {} })
      stream.respond(200, { 'content-type': 'text/plain' }, Buffer.alloc(100, 'x'))
    })
    socket.emit('data', START)
    for (const piece of inPieces(input)) socket.emit('data', piece)
    await new Promise((resolve) => setImmediate(resolve))
    return { requests, sent: sentFrames(socket), isEnded: socket.writableEnded }
  },
}

class SocketUnderTest extends EventEmitter {
  readonly sent: Buffer[] = []
  destroyed = false
  writableEnded = false
  readonly encrypted = true

  write(bytes: Buffer, done?: () => void): boolean {
    this.sent.push(Buffer.from(bytes))
    if (done) process.nextTick(done)
    return true
  }

  cork(): void {}
  uncork(): void {}

  end(): void {
    this.writableEnded = true
  }

  destroy(): void {
    this.destroyed = true
  }
}

function sentFrames(socket: SocketUnderTest): unknown[] {
  const frames: unknown[] = []
  let isOver = false
  const reader = new FrameReader((type, flags, id, payload) => {
    assert(!isOver, 'a frame after GOAWAY')
    isOver = type === GOAWAY
    frames.push([type, flags, id, payload.length])
  })
  reader.read(Buffer.concat(socket.sent))
  assert(!socket.writableEnded || isOver, 'the connection ends without GOAWAY')
  return frames
}
