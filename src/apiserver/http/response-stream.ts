import type { ResponseStream } from './exchange.ts'
import { isLarge } from './large-body.ts'
import type { Outgoing } from './outgoing.ts'
import { PacedWriter } from './paced-writer.ts'

/** A client that leaves more than this unread of what is new is cut off; it can come back and resume. */
const MAX_UNREAD_BYTES = 64 * 1024 * 1024

export function responseStream(out: Outgoing, connection: object): ResponseStream {
  let paced: PacedWriter | undefined
  let mostUnread = MAX_UNREAD_BYTES
  const unread = () => out.writableLength + (paced?.waitingBytes ?? 0)
  return {
    write(chunk) {
      if (out.destroyed || out.writableEnded) return true
      // The state at the beginning of a watch may be larger than the limit, and nobody is slow because of that.
      if (unread() === 0) mostUnread = MAX_UNREAD_BYTES + chunk.length
      if (isLarge(chunk.length)) paced ??= new PacedWriter(out, connection)
      // What comes after a large chunk waits for it.
      if (paced && (isLarge(chunk.length) || !paced.isIdle)) paced.write([chunk])
      else out.write(chunk)
      return unread() <= mostUnread
    },
    end() {
      if (out.destroyed || out.writableEnded) return
      if (paced && !paced.isIdle) paced.end()
      else out.end()
    },
  }
}
