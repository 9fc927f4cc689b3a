import type { Kind } from '../../api/kind.ts'
import { encodeObject, encodeStored } from '../../api/protobuf/encode.ts'
import { inTurns } from '../../base/take-turn.ts'
import { inVersion } from '../objects/representation.ts'
import type { ObjectPage } from '../registry/answer.ts'
import type { CachedObject } from '../watch-cache/cached-object.ts'
import { listView, type ViewContext } from './answer-body.ts'
import { listMetaOf } from './list-body.ts'

/** Reading so much takes a few milliseconds. */
const LARGE_BYTES = 256 * 1024
/** Objects that are brought into their form in one step. */
const AT_ONCE = 16
const COMMA = Buffer.from(',')

/** Whether a list is so large that bringing its objects into another form would keep others waiting. */
export function isLargeList({ objects }: ObjectPage): boolean {
  let bytes = 0
  for (const object of objects) {
    bytes += object.bytes.length
    if (bytes > LARGE_BYTES) return true
  }
  return false
}

function* inSteps(objects: readonly CachedObject[]): Generator<readonly CachedObject[]> {
  for (let at = 0; at < objects.length; at += AT_ONCE) yield objects.slice(at, at + AT_ONCE)
}

/** Makes ready, in turns, what a list of whole objects is put together from. */
export async function prepareList(kind: Kind, { objects }: ObjectPage, isProtobuf: boolean): Promise<void> {
  if (!isProtobuf && !kind.conversion) return
  function* steps() {
    for (const some of inSteps(objects)) {
      for (const stored of some) {
        const object = inVersion(kind, stored)
        if (isProtobuf) encodeStored(kind, object)
      }
      yield []
    }
  }
  await inTurns(steps())
}

/** A table or the metadata of the objects, written in turns. */
export async function listViewInTurns(kind: Kind, page: ObjectPage, context: ViewContext): Promise<Buffer[]> {
  const meta = listMetaOf(page)
  const empty = listView(kind, [], meta, context)
  const rows = 'rows' in empty ? 'rows' : 'items'
  const rowsOf = (some: readonly CachedObject[]) => {
    const view = listView(kind, some, meta, context) as Record<typeof rows, readonly object[]>
    return view[rows]
  }
  if (context.negotiated.format === 'protobuf') {
    const all = await inTurns(mapped(inSteps(page.objects), rowsOf))
    return [encodeObject({ ...empty, [rows]: all })]
  }
  const texts = await inTurns(
    mapped(inSteps(page.objects), (some) => [COMMA, Buffer.from(JSON.stringify(rowsOf(some)).slice(1, -1))]),
  )
  // The rows are the last field: what is written of an empty view ends with them.
  const [head, tail] = [JSON.stringify(empty).slice(0, -2), ']}']
  return [Buffer.from(head), ...texts.slice(1), Buffer.from(tail)]
}

function* mapped<T, U>(items: Iterable<T>, map: (item: T) => U): Generator<U> {
  for (const item of items) yield map(item)
}
