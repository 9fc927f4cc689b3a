import { Readable, Writable } from 'node:stream'
import type { RawData, WebSocket } from 'ws'

export interface ChannelEncoding {
  /** Text messages of a digit and base64, instead of bytes with the channel as the first. */
  readonly isBase64: boolean
  /** A message of 255 and a channel ends the channel (v5). */
  readonly canHalfClose: boolean
}

const CLOSE_CHANNEL = 255
const DIGIT_ZERO = 0x30
/** More unread bytes than this in one channel stop the whole connection. */
const MAX_UNREAD_BYTES = 1024 * 1024

/** Streams inside one WebSocket: the first byte of each message names the stream (channel.k8s.io). */
export class WebSocketChannels {
  readonly #socket: WebSocket
  readonly #encoding: ChannelEncoding
  readonly #readers = new Map<number, Readable>()
  readonly #writers: Writable[] = []
  readonly #blocked = new Set<Readable>()
  /** Resolves when the connection is gone. */
  readonly closed: Promise<void>

  constructor(socket: WebSocket, encoding: ChannelEncoding) {
    this.#socket = socket
    this.#encoding = encoding
    socket.on('message', (message: RawData) => this.#receive(bytesOf(message)))
    this.closed = new Promise((resolve) => {
      socket.once('close', () => {
        for (const reader of this.#readers.values()) reader.push(null)
        for (const writer of this.#writers) writer.destroy()
        resolve()
      })
    })
  }

  /** What comes on a channel; one that nobody asks for is thrown away. */
  reader(channel: number): Readable {
    const reader: Readable = new Readable({
      read: () => {
        if (this.#blocked.delete(reader) && this.#blocked.size === 0) this.#socket.resume()
      },
      destroy: (error, done) => {
        this.#readers.delete(channel)
        if (this.#blocked.delete(reader) && this.#blocked.size === 0) this.#socket.resume()
        done(error)
      },
    })
    reader.on('error', () => {})
    this.#readers.set(channel, reader)
    return reader
  }

  writer(channel: number): Writable {
    const writer = new Writable({ write: (chunk: Buffer, _, done) => this.send(channel, chunk, done) })
    writer.on('error', () => {})
    this.#writers.push(writer)
    return writer
  }

  send(channel: number, data: Buffer, done: (error?: Error | null) => void = () => {}): void {
    const { isBase64 } = this.#encoding
    const message = isBase64
      ? `${channel}${data.toString('base64')}`
      : Buffer.concat([Buffer.from([channel]), data], data.length + 1)
    this.#socket.send(message, { binary: !isBase64 }, (error) => done(error ?? null))
  }

  close(): void {
    this.#socket.close(1000)
  }

  destroy(): void {
    this.#socket.terminate()
  }

  #receive(message: Buffer): void {
    if (message.length === 0) return
    const { isBase64, canHalfClose } = this.#encoding
    const first = message[0]!
    if (canHalfClose && first === CLOSE_CHANNEL) {
      this.#readers.get(message[1] ?? -1)?.push(null)
      return
    }
    const reader = this.#readers.get(isBase64 ? first - DIGIT_ZERO : first)
    if (!reader || message.length === 1 || reader.readableEnded || reader.destroyed) return
    const data = message.subarray(1)
    const isFull = !reader.push(isBase64 ? Buffer.from(data.toString('latin1'), 'base64') : data)
    if (!isFull || reader.readableLength <= MAX_UNREAD_BYTES) return
    this.#blocked.add(reader)
    this.#socket.pause()
  }
}

function bytesOf(message: RawData): Buffer {
  if (Buffer.isBuffer(message)) return message
  return Array.isArray(message) ? Buffer.concat(message) : Buffer.from(message)
}
