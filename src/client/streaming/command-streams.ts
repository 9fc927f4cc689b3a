import type { Readable, Writable } from 'node:stream'
import type { TerminalSize } from './terminal-size.ts'

/** Which streams a command has. */
export interface CommandStreamOptions {
  readonly stdin: boolean
  readonly stdout: boolean
  readonly stderr: boolean
  readonly tty: boolean
}

/** How a command ended, as the error stream tells it. */
export interface CommandStatus {
  readonly metadata: Readonly<Record<string, never>>
  readonly status: 'Success' | 'Failure'
  readonly reason?: string
  readonly message?: string
  readonly details?: { readonly causes?: readonly { readonly reason?: string; readonly message?: string }[] }
  readonly code?: number
}

/** The client's streams of one command, whichever protocol carries them. */
export interface CommandStreams {
  readonly stdin: Readable | undefined
  readonly stdout: Writable | undefined
  readonly stderr: Writable | undefined
  onResize(listener: (size: TerminalSize) => void): void
  /** Ends the output, tells how it ended, and closes the connection once that has gone out. */
  finish(status: CommandStatus): Promise<void>
  /** Resolves when the client is gone. */
  readonly closed: Promise<void>
}

/** Before v4 the error stream carries a sentence, and nothing when all went well. */
export const statusText = (status: CommandStatus, isObject: boolean) =>
  isObject ? JSON.stringify(status) : status.status === 'Success' ? '' : (status.message ?? '')

/** Ends a stream; resolves when everything has gone out, or can not any more. */
export function ended(stream: Writable | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (!stream || stream.destroyed || stream.writableFinished) return resolve()
    stream.once('finish', resolve)
    stream.once('close', resolve)
    stream.end()
  })
}

/** Nobody wants the rest; unread, it would hold up everything behind it. */
export function discard(stream: Readable | undefined): void {
  stream?.unpipe()
  stream?.resume()
}
