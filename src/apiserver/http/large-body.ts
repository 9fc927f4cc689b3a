import type { Clock, Timer } from '../../base/clock.ts'
import type { Outgoing } from './outgoing.ts'
import { PacedWriter } from './paced-writer.ts'

/** Larger bodies than this take turns. */
const LARGE_BYTES = 64 * 1024
/** A client that does not take a piece in this time does not read: the seats of its request are not kept for that. */
const UNREAD_MS = 1000
/** As long as upstream gives a whole request. Who takes no piece in that time keeps a whole list in memory. */
const GIVEN_UP_MS = 60_000

export const isLarge = (bytes: number) => bytes > LARGE_BYTES

/**
 * Writes a large body in pieces, and ends the answer. Resolves when the last piece is on its way, or its client has gone
 * or does not read. To one that goes on reading the rest is sent all the same; one that never does is cut off.
 */
export function writeLarge(out: Outgoing, connection: object, chunks: readonly Buffer[], clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    let timer: Timer | undefined
    const finish = () => {
      timer?.cancel()
      resolve()
    }
    const unread = () => {
      resolve()
      timer = clock.after(GIVEN_UP_MS, () => out.destroy()).unref()
    }
    const writer = new PacedWriter(out, connection, {
      onWrite() {
        timer = clock.after(UNREAD_MS, unread).unref()
      },
      onWritten() {
        timer?.cancel()
        if (writer.waitingBytes === 0) resolve()
      },
    })
    out.once('close', finish)
    writer.end(chunks)
  })
}
