import { Readable, Writable } from 'node:stream'
import type { Http2Stream } from './stream.ts'

/** The body of a request as one of Node's streams. The client's window opens as it is read. */
export class BodyStream extends Readable {
  readonly #stream: Http2Stream
  #held = 0

  constructor(stream: Http2Stream) {
    super()
    this.#stream = stream
    stream.read({
      data: (chunk) => {
        this.#held += chunk.length
        if (this.push(chunk)) this._read()
      },
      end: () => this.push(null),
      broken: () => this.destroy(),
    })
  }

  override _read(): void {
    const held = this.#held
    this.#held = 0
    if (held > 0) this.#stream.consumed(held)
  }
}

/** An answer as one of Node's streams: who writes waits for the client. Broken off, the client is told so. */
export class AnswerStream extends Writable {
  readonly #stream: Http2Stream

  constructor(stream: Http2Stream) {
    super()
    this.#stream = stream
    // What goes wrong means that the client is gone; `close` follows and is what is acted on.
    this.on('error', () => {})
    stream.once('close', () => this.destroy())
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error) => void): void {
    this.#stream.write(chunk, done)
  }

  override _final(done: () => void): void {
    this.#stream.end()
    done()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    if (!this.#stream.writableEnded) this.#stream.destroy()
    done(error)
  }
}
