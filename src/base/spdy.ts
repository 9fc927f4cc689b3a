import type { Duplex } from 'node:stream'
import type { SpdyHeaders } from './spdy/header-block.ts'
import { SpdySession } from './spdy/session.ts'
import type { SpdyStream } from './spdy/stream.ts'

export type { SpdyHeaders } from './spdy/header-block.ts'
export type { SpdyStream } from './spdy/stream.ts'

export interface SpdyOptions {
  readonly role: 'client' | 'server'
  /** A stream that the other side opens; false refuses it. */
  readonly onStream?: (stream: SpdyStream) => boolean
}

/** SPDY/3.1 on a connection that is there already: streams, and nothing of HTTP. */
export interface SpdyConnection {
  /** Opens a stream; data may be sent at once. */
  open(headers: SpdyHeaders): SpdyStream
  /** Takes no new streams, and closes the connection when the last one is over. */
  close(): void
  destroy(): void
  /** Resolves when the connection is gone. */
  readonly closed: Promise<void>
  readonly streamCount: number
}

export function spdyConnection(socket: Duplex, options: SpdyOptions): SpdyConnection {
  return new SpdySession(socket, options)
}
