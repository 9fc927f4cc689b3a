import type { Kind } from '../../api/kind.ts'
import { apiVersionOf, type ListMeta } from '../../api/meta/object.ts'
import type { Clock, Timer } from '../../base/clock.ts'
import type { ObjectPage } from '../registry/answer.ts'
import { inVersion } from '../registry/representation.ts'

const COMMA = 0x2c
const TAIL = Buffer.from(']}')
/** A list body nobody asked for during this time is dropped. */
const KEEP_MS = 10_000

export function listMetaOf(page: ObjectPage): ListMeta {
  return {
    resourceVersion: String(page.revision),
    ...(page.continueToken && { continue: page.continueToken }),
    ...(page.remaining !== undefined && { remainingItemCount: page.remaining }),
  }
}

/**
 * Writes lists from the objects' own bytes. A whole list that is asked for again while nothing changed is kept, so
 * that many clients listing the same resource cost one copy.
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
    return [head, this.items(kind, page, 'json', joinItems), TAIL]
  }

  /** The items in one form, which `join` writes. */
  items(kind: Kind, page: ObjectPage, form: string, join: (kind: Kind, page: ObjectPage) => Buffer): Buffer {
    if (page.identity === undefined) return join(kind, page)
    const scope = `${form}:${kind.version}:${page.identity.slice(0, page.identity.lastIndexOf('@'))}`
    const known = this.#items.get(scope)
    const wasSeen = known?.identity === page.identity
    known?.timer.cancel()
    const items = (wasSeen ? known.items : undefined) ?? join(kind, page)
    const timer = this.#clock.after(KEEP_MS, () => this.#items.delete(scope)).unref()
    // The first time only its identity is remembered: most lists are not asked for twice.
    this.#items.set(scope, { identity: page.identity, items: wasSeen ? items : undefined, timer })
    return items
  }
}

function joinItems(kind: Kind, page: ObjectPage): Buffer {
  const objects = page.objects.map((object) => inVersion(kind, object).bytes)
  let size = Math.max(0, objects.length - 1)
  for (const bytes of objects) size += bytes.length
  const joined = Buffer.allocUnsafe(size)
  let at = 0
  for (const bytes of objects) {
    if (at > 0) joined[at++] = COMMA
    at += bytes.copy(joined, at)
  }
  return joined
}
