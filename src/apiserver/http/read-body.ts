import { type ApiError, badRequest, requestTooLarge, timeout } from '../../api/meta/api-error.ts'
import type { Clock, Timer } from '../../base/clock.ts'
import type { BodyReader } from '../../http2/stream.ts'

/** Larger bodies are refused: no object may be bigger than the store takes. */
export const MAX_BODY_BYTES = 3 * 1024 * 1024

/** So that nobody holds a place among the requests in work for ever. */
const BODY_TIMEOUT_MS = 60_000

/** The whole body, from whoever hands it to a reader. */
export function readBody(source: (reader: BodyReader) => void, clock: Clock): Promise<Buffer> {
  return new Promise<Buffer>((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    let isDone = false
    let timer: Timer | undefined
    const finish = (failure?: () => ApiError) => {
      if (isDone) return
      isDone = true
      timer?.cancel()
      if (failure) reject(failure())
      else resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks))
    }
    source({
      data(chunk) {
        size += chunk.length
        if (isDone) return
        if (size <= MAX_BODY_BYTES) chunks.push(chunk)
        else finish(() => requestTooLarge(`limit is ${MAX_BODY_BYTES}`))
      },
      end: () => finish(),
      broken: () => finish(() => badRequest('the request was aborted')),
    })
    // Most bodies are here already, or come at once.
    if (isDone) return
    timer = clock.after(BODY_TIMEOUT_MS, () => finish(() => timeout('the request body did not arrive in time')))
    timer.unref()
  })
}
