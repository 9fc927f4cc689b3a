import type { Kind } from '../../api/kind.ts'
import { encodeEvent, encodeList, encodeObject, encodeStored, joinItems } from '../../api/protobuf/encode.ts'
import { getOrCreate } from '../../base/get-or-create.ts'
import { PROTOBUF_TYPE } from '../http/media-type.ts'
import { inVersion } from '../objects/representation.ts'
import type { Answer, ObjectPage } from '../registry/answer.ts'
import type { OpenWatch } from '../registry/watch.ts'
import type { FrameEncoding } from '../watch-cache/watcher.ts'
import { eventView, listView, objectView, type ViewContext } from './answer-body.ts'
import { listMetaOf } from './list-body.ts'
import type { WatchFrames } from './watch-frames.ts'

/** An answer in protobuf, in the view that was asked for. */
export function protobufBody(answer: Answer, context: ViewContext): Buffer | Buffer[] {
  const isView = context.negotiated.as !== 'object'
  switch (answer.type) {
    case 'plain':
      return encodeObject(answer.body)
    case 'object':
      if (isView) return encodeObject(objectView(answer.kind, answer.object, context))
      return encodeStored(answer.kind, inVersion(answer.kind, answer.object)).bytes
    case 'list': {
      const { kind, list } = answer
      if (isView) return encodeObject(listView(kind, list.objects, listMetaOf(list), context))
      return encodeList(kind, listMetaOf(list), context.lists.items(kind, list, 'protobuf', itemsOf))
    }
  }
}

const itemsOf = (kind: Kind, page: ObjectPage) =>
  joinItems(page.objects.map((stored) => encodeStored(kind, inVersion(kind, stored))))

/** Events of a watch, each behind its length. */
export function protobufFrames(open: OpenWatch, context: ViewContext): WatchFrames {
  const isView = context.negotiated.as !== 'object'
  return {
    contentType: `${PROTOBUF_TYPE};stream=watch`,
    encoding: isView ? viewEncoding(open, context) : plainEncoding(open),
    frame: (type, object) => encodeEvent(type, encodeObject(object)),
  }
}

/** One value for all watches of a kind's version, so that they share their frames. */
const plainEncodings = new WeakMap<object, FrameEncoding>()

function plainEncoding({ kind }: OpenWatch): FrameEncoding {
  return getOrCreate(plainEncodings, kind, () => ({
    encode: (event) => encodeEvent(event.type, encodeStored(kind, inVersion(kind, event.object)).bytes),
  }))
}

function viewEncoding({ kind }: OpenWatch, context: ViewContext): FrameEncoding {
  return {
    encode: (event) => encodeEvent(event.type, encodeObject(eventView(kind, event.object, context, false))),
  }
}
