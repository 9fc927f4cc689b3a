import type { TLSSocket } from 'node:tls'
import { certificateExpiry } from '../../base/certificate-expiry.ts'
import type { Clock, Timer } from '../../base/clock.ts'
import type { Http2Connection } from '../../http2/connection.ts'
import { LOOK_MS } from '../../http2/connection-watch.ts'
import { NO_ERROR } from '../../http2/frames.ts'

const EXPIRED = { code: NO_ERROR, message: 'the client certificate has expired' }

/**
 * The open connections, each with its side of HTTP/2 if it speaks that. Every LOOK_MS, those that are not used are closed,
 * and those whose client certificate has expired. Watches and streams on them end then too.
 */
export class OpenConnections {
  readonly #clock: Clock
  readonly #open = new Map<TLSSocket, Http2Connection | undefined>()
  #look: Timer | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  add(socket: TLSSocket, connection: Http2Connection | undefined): void {
    this.#open.set(socket, connection)
    socket.on('close', () => this.#open.delete(socket))
    this.#look ??= this.#clock.after(LOOK_MS, () => this.#takeLook()).unref()
  }

  close(): void {
    this.#look?.cancel()
    for (const connection of this.#open.values()) connection?.close()
  }

  /** Not one timer for each: there may be thousands. */
  #takeLook(): void {
    const now = this.#clock.now()
    for (const [socket, connection] of this.#open) {
      if (now < certificateExpiry(socket)) connection?.look()
      else if (connection) connection.close(EXPIRED)
      else socket.destroy()
    }
    this.#look = this.#open.size > 0 ? this.#clock.after(LOOK_MS, () => this.#takeLook()).unref() : undefined
  }
}
