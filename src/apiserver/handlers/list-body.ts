import type { Kind } from '../../api/kind.ts'
import { apiVersionOf, type ListMeta } from '../../api/meta/object.ts'
import type { Clock, Timer } from '../../base/clock.ts'
import { lengthOf } from '../http/exchange.ts'
import { inVersion } from '../objects/representation.ts'
import type { ObjectPage } from '../registry/answer.ts'

const COMMA = Buffer.from(',')
const TAIL = Buffer.from(']}')
/** A list body nobody asked for during this time is dropped. */
const KEEP_MS = 10_000
/** A larger list is written from its objects each time: a second copy of all would cost more than it saves. */
const MOST_KEPT_BYTES = 16 * 1024 * 1024

export function listMetaOf(page: ObjectPage): ListMeta {
  return {
    resourceVersion: String(page.revision),
    ...(page.continueToken && { continue: page.continueToken }),
    ...(page.remaining !== undefined && { remainingItemCount: page.remaining }),
  }
}

/**
 * Writes lists from the objects' own bytes. A whole list that is asked for again while nothing changed is kept in one piece,
 * so that many clients listing the same resource cost one copy.
 */
export class ListBodies {
  readonly #clock: Clock
  readonly #items = new Map<string, { identity: string; items: Buffer | undefined; timer: Timer }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  body(kind: Kind, page: ObjectPage): Buffer[] {
    const meta = JSON.stringify(listMetaOf(page))
    const head = Buffer.from(
      `{"kind":${JSON.stringify(kind.listKind)},"apiVersion":${JSON.stringify(apiVersionOf(kind))},"metadata":${meta},"items":[`,
    )
    const known = this.#kept(kind, page, 'json', joinItems)
    return known ? [head, known, TAIL] : [head, ...itemsOf(kind, page), TAIL]
  }

  /** The items in one piece and one form, which `join` writes. */
  items(kind: Kind, page: ObjectPage, form: string, join: (kind: Kind, page: ObjectPage) => Buffer): Buffer {
    return this.#kept(kind, page, form, join) ?? join(kind, page)
  }

  /** From the second time on: most lists are not asked for twice. */
  #kept(
    kind: Kind,
    page: ObjectPage,
    form: string,
    join: (kind: Kind, page: ObjectPage) => Buffer | undefined,
  ): Buffer | undefined {
    if (page.identity === undefined) return undefined
    const scope = `${form}:${kind.version}:${page.identity.slice(0, page.identity.lastIndexOf('@'))}`
    const known = this.#items.get(scope)
    const wasSeen = known?.identity === page.identity
    known?.timer.cancel()
    const items = wasSeen ? (known.items ?? join(kind, page)) : undefined
    const timer = this.#clock.after(KEEP_MS, () => this.#items.delete(scope)).unref()
    this.#items.set(scope, { identity: page.identity, items, timer })
    return items
  }
}

function joinItems(kind: Kind, page: ObjectPage): Buffer | undefined {
  const items = itemsOf(kind, page)
  const size = lengthOf(items)
  return size <= MOST_KEPT_BYTES ? Buffer.concat(items, size) : undefined
}

/** The objects' own bytes, with commas between them. */
function itemsOf(kind: Kind, page: ObjectPage): Buffer[] {
  const items: Buffer[] = []
  for (const object of page.objects) {
    if (items.length > 0) items.push(COMMA)
    items.push(inVersion(kind, object).bytes)
  }
  return items
}
