import type { Clock } from '../../base/clock.ts'
import { getOrCreate } from '../../base/get-or-create.ts'
import { inVersion } from '../objects/representation.ts'
import type { OpenWatch } from '../registry/watch.ts'
import type { FrameEncoding } from '../watch-cache/watcher.ts'
import { eventView, type ViewContext } from './answer-body.ts'

/** How a watch writes its events down. */
export interface WatchFrames {
  readonly contentType: string
  /** Events of objects. Watches with the same encoding share one frame. */
  readonly encoding: FrameEncoding
  /** An event of something that is not stored: a bookmark, a Status. */
  frame(type: string, object: object): Buffer
}

const HEADS = {
  ADDED: Buffer.from('{"type":"ADDED","object":'),
  MODIFIED: Buffer.from('{"type":"MODIFIED","object":'),
  DELETED: Buffer.from('{"type":"DELETED","object":'),
}
const TAIL = Buffer.from('}\n')

/** One line of JSON per event. */
export function jsonFrames(open: OpenWatch, context: ViewContext, clock: Clock): WatchFrames {
  const { as, contentType } = context.negotiated
  const encoding = as === 'object' ? plainEncoding(open) : viewEncoding(open, context, clock)
  return { contentType, encoding, frame: jsonFrame }
}

const jsonFrame = (type: string, object: unknown) => Buffer.from(`${JSON.stringify({ type, object })}\n`)

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
      return jsonFrame(event.type, object)
    },
  }
}
