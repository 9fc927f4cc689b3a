import { ApiError, notAcceptable } from '../../api/meta/api-error.ts'
import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import type { Exchange } from '../http/exchange.ts'
import type { OpenWatch } from '../registry/watch.ts'
import type { EventBatch, WatchSink } from '../watch-cache/watcher.ts'
import { bookmarkView, type ViewContext } from './answer-body.ts'
import { protobufFrames } from './protobuf-body.ts'
import { jsonFrames } from './watch-frames.ts'

/** A watch without a timeout of its own ends after 30 to 60 minutes, so that clients spread over servers again. */
const MINIMUM_TIMEOUT_MS = 30 * 60_000

/** Sends a watch until the client goes, the time is up, or the server cannot go on. */
export function streamWatch(
  exchange: Exchange,
  open: OpenWatch,
  context: ViewContext,
  clock: Clock,
  random: Random,
): Promise<void> {
  const { negotiated } = context
  if (negotiated.format === 'yaml') throw notAcceptable(['application/json', 'application/json;stream=watch'])
  const frames = negotiated.format === 'protobuf' ? protobufFrames(open, context) : jsonFrames(open, context, clock)
  return new Promise((resolve) => {
    const { signal } = exchange
    const out = exchange.open(200, { 'content-type': frames.contentType, 'cache-control': 'no-cache, private' })
    let stop = () => {}
    let isOver = false
    const end = () => {
      if (isOver) return
      isOver = true
      timer.cancel()
      stop()
      out.end()
      resolve()
    }
    const sink: WatchSink = {
      deliver(batch: EventBatch) {
        if (!out.write(batch.frame(frames.encoding))) end()
      },
      bookmark(revision, initialEventsEnd) {
        const object = bookmarkView(open.kind, revision, initialEventsEnd, context)
        out.write(frames.frame('BOOKMARK', object))
      },
      end,
    }
    const timeout = open.timeoutSeconds ? open.timeoutSeconds * 1000 : MINIMUM_TIMEOUT_MS * (1 + random.next())
    const timer = clock.after(timeout, end).unref()
    signal.addEventListener('abort', end, { once: true })
    try {
      stop = open.begin(sink)
    } catch (error) {
      // The answer has begun, so the failure travels as an event.
      if (!(error instanceof ApiError)) throw error
      out.write(frames.frame('ERROR', error.toStatus()))
      end()
    }
    if (isOver || signal.aborted) stop()
  })
}
