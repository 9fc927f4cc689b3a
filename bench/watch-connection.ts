import { connect, type TLSSocket } from 'node:tls'
import type { Credentials } from '../tests/tools/api.ts'

/**
 * One HTTP/2 connection with watches, its frames read by hand: whoever measures a server must cost less than it does.
 * Windows are those of Go's client, which kubectl and most controllers are: 4 MB to a stream, given back every 4 KB.
 */

const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'
const HEADER = 9
const DATA = 0
const HEADERS = 1
const SETTINGS = 4
const PING = 6
const WINDOW_UPDATE = 8
const ACK = 1
const END_STREAM_AND_HEADERS = 5
const STREAM_WINDOW = 4 << 20
const CONNECTION_WINDOW = 1 << 30
const REFRESH = 4 << 10
/** `:status: 200` in the static table of HPACK. */
const STATUS_200 = 0x88

export interface WatchListener {
  /** All watches are answered. */
  onOpen(): void
  /** What came for one of the watches, numbered from 0; not to be kept. */
  onData(watch: number, buffer: Buffer, from: number, to: number): void
  onFailure(reason: string): void
}

export class WatchConnection {
  readonly #socket: TLSSocket
  readonly #listener: WatchListener
  readonly #unsent: Int32Array
  #connectionUnsent = 0
  #answered = 0
  #rest: Buffer | undefined
  #out: Buffer[] = []
  #isFlushing = false

  constructor(
    server: string,
    credentials: Credentials | undefined,
    path: string,
    watches: number,
    listener: WatchListener,
  ) {
    const { hostname, port } = new URL(server)
    this.#listener = listener
    this.#unsent = new Int32Array(watches)
    this.#socket = connect({ ...credentials, host: hostname, port: Number(port), ALPNProtocols: ['h2'] })
    this.#socket.setNoDelay(true)
    this.#socket.on('data', (chunk: Buffer) => this.#take(chunk))
    this.#socket.on('error', (error) => listener.onFailure(error.message))
    this.#socket.write(opening(path, watches))
  }

  close(): void {
    this.#socket.destroy()
  }

  #take(chunk: Buffer): void {
    const buffer = this.#rest ? Buffer.concat([this.#rest, chunk]) : chunk
    let at = 0
    while (buffer.length - at >= HEADER) {
      const end = at + HEADER + buffer.readUIntBE(at, 3)
      if (end > buffer.length) break
      this.#frame(buffer, at, end)
      at = end
    }
    this.#rest = at < buffer.length ? buffer.subarray(at) : undefined
    if (this.#out.length > 0 && !this.#isFlushing) this.#flushSoon()
  }

  /** One write for all that is answered in a turn of the event loop. */
  #flushSoon(): void {
    this.#isFlushing = true
    setImmediate(() => {
      this.#isFlushing = false
      this.#socket.write(Buffer.concat(this.#out))
      this.#out = []
    })
  }

  #frame(buffer: Buffer, at: number, end: number): void {
    const payload = at + HEADER
    const stream = buffer.readUInt32BE(at + 5)
    switch (buffer[at + 3]) {
      case DATA:
        this.#listener.onData((stream - 1) >> 1, buffer, payload, end)
        this.#giveBack(stream, end - payload)
        return
      case HEADERS:
        if (buffer[payload] !== STATUS_200) this.#listener.onFailure('a watch was not answered with 200')
        else if (++this.#answered === this.#unsent.length) this.#listener.onOpen()
        return
      case SETTINGS:
        if (((buffer[at + 4] ?? 0) & ACK) === 0) this.#out.push(frame(SETTINGS, ACK, 0, Buffer.alloc(0)))
        return
      case PING:
        if (((buffer[at + 4] ?? 0) & ACK) === 0)
          this.#out.push(frame(PING, ACK, 0, Buffer.from(buffer.subarray(payload, end))))
    }
  }

  #giveBack(stream: number, bytes: number): void {
    const watch = (stream - 1) >> 1
    const unsent = (this.#unsent[watch] ?? 0) + bytes
    this.#unsent[watch] = unsent < REFRESH ? unsent : 0
    if (unsent >= REFRESH) this.#out.push(windowUpdate(stream, unsent))
    this.#connectionUnsent += bytes
    if (this.#connectionUnsent < REFRESH) return
    this.#out.push(windowUpdate(0, this.#connectionUnsent))
    this.#connectionUnsent = 0
  }
}

/** All that a client says before it hears anything: its settings, and the requests. */
function opening(path: string, watches: number): Buffer {
  const settings = Buffer.alloc(6)
  settings.writeUInt16BE(4, 0)
  settings.writeUInt32BE(STREAM_WINDOW, 2)
  // Literals that are not indexed, without Huffman codes: `:method GET`, `:scheme https`, `:authority`, `:path`, `accept`.
  const headers = Buffer.concat([
    Buffer.from([0x82, 0x87]),
    literal(1, 'localhost'),
    literal(4, path),
    literal(19, 'application/json'),
  ])
  return Buffer.concat([
    Buffer.from(PREFACE),
    frame(SETTINGS, 0, 0, settings),
    windowUpdate(0, CONNECTION_WINDOW),
    ...Array.from({ length: watches }, (_, watch) => frame(HEADERS, END_STREAM_AND_HEADERS, watch * 2 + 1, headers)),
  ])
}

function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const header = Buffer.alloc(HEADER)
  header.writeUIntBE(payload.length, 0, 3)
  header[3] = type
  header[4] = flags
  header.writeUInt32BE(stream, 5)
  return Buffer.concat([header, payload])
}

function windowUpdate(stream: number, bytes: number): Buffer {
  const whole = Buffer.allocUnsafe(HEADER + 4)
  whole.writeUIntBE(4, 0, 3)
  whole[3] = WINDOW_UPDATE
  whole[4] = 0
  whole.writeUInt32BE(stream, 5)
  whole.writeUInt32BE(bytes, HEADER)
  return whole
}

/** RFC 7541 6.2.2: a name of the static table, a value of less than 127 bytes. */
function literal(name: number, value: string): Buffer {
  const text = Buffer.from(value)
  const index = name < 15 ? [name] : [15, name - 15]
  return Buffer.concat([Buffer.from([...index, text.length]), text])
}
