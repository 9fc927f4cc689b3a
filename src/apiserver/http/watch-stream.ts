import { ApiError, notAcceptable } from '../../api/meta/api-error.ts'
import type { Clock } from '../../base/clock.ts'
import { getOrCreate } from '../../base/get-or-create.ts'
import type { Random } from '../../base/random.ts'
import { inVersion } from '../registry/representation.ts'
import type { OpenWatch, WatchSink } from '../registry/watch.ts'
import type { EventBatch, FrameEncoding } from '../watch-cache/watcher.ts'
import { bookmarkView, eventView, type ViewContext } from './answer-body.ts'
import type { Exchange } from './exchange.ts'

/** A watch without a timeout of its own ends after 30 to 60 minutes, so that clients spread over servers again. */
const MINIMUM_TIMEOUT_MS = 30 * 60_000

const HEADS = {
  ADDED: Buffer.from('{"type":"ADDED","object":'),
  MODIFIED: Buffer.from('{"type":"MODIFIED","object":'),
  DELETED: Buffer.from('{"type":"DELETED","object":'),
}
const TAIL = Buffer.from('}\n')

/** Objects as they are stored. One value for all watches of a kind's version, so that they share their frames. */
const plainEncodings = new WeakMap<object, FrameEncoding>()

function plainEncoding({ kind }: OpenWatch): FrameEncoding {
  return getOrCreate(plainEncodings, kind, () => ({
    encode: (event) => Buffer.concat([HEADS[event.type], inVersion(kind, event.object).bytes, TAIL]),
  }))
}

function viewEncoding(open: OpenWatch, context: ViewContext, clock: Clock): FrameEncoding {
  let isFirst = true
  return {
    encode(event) {
      const object = eventView(open.kind, event.object, { ...context, now: clock.now() }, isFirst)
      isFirst = false
      return Buffer.from(`${JSON.stringify({ type: event.type, object })}\n`)
    },
  }
}

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
  const encoding = negotiated.as === 'object' ? plainEncoding(open) : viewEncoding(open, context, clock)
  return new Promise((resolve) => {
    const { signal } = exchange
    const out = exchange.open(200, { 'content-type': negotiated.contentType, 'cache-control': 'no-cache, private' })
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
        if (!out.write(batch.frame(encoding))) end()
      },
      bookmark(revision, initialEventsEnd) {
        const object = bookmarkView(open.kind, revision, initialEventsEnd, context)
        out.write(Buffer.from(`${JSON.stringify({ type: 'BOOKMARK', object })}\n`))
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
      out.write(Buffer.from(`${JSON.stringify({ type: 'ERROR', object: error.toStatus() })}\n`))
      end()
    }
    if (isOver || signal.aborted) stop()
  })
}
