import type { Kind } from '../../../api/kind.ts'
import type { Json, KubernetesObject } from '../../../api/meta/object.ts'
import { getOrCreate } from '../../../base/get-or-create.ts'
import { cloneJson } from '../../../patch/json-value.ts'
import type { KindTable } from '../../kind-table.ts'
import { setTypeMeta } from '../../objects/object-meta.ts'
import { CachedObject } from '../../watch-cache/cached-object.ts'

/** The kinds that show the same stored objects: other versions, and for events another group. The given one is first. */
export function equivalentKinds(kinds: KindTable, kind: Kind): Kind[] {
  const { prefix } = kinds.placeOf(kind)
  const others = [...kinds.list()].filter((other) => other !== kind && kinds.placeOf(other).prefix === prefix)
  return [kind, ...others]
}

/** The same, remembered until the kinds change. */
export class EquivalentKinds {
  readonly #kinds: KindTable
  #known = new WeakMap<Kind, readonly Kind[]>()

  constructor(kinds: KindTable) {
    this.#kinds = kinds
    kinds.onChange(() => {
      this.#known = new WeakMap()
    })
  }

  of(kind: Kind): readonly Kind[] {
    return getOrCreate(this.#known, kind, () => equivalentKinds(this.#kinds, kind))
  }
}

/** The object in another version; itself if it is of that version already, otherwise a private copy. */
export async function inVersionOf(
  kinds: KindTable,
  object: KubernetesObject,
  from: Kind,
  to: Kind,
): Promise<KubernetesObject> {
  if (from === to) return object
  const [source, target] = [kinds.placeOf(from).form, kinds.placeOf(to).form]
  if (source && target) {
    const { kind, apiVersion, metadata, ...rest } = await source.write(object)
    const value = Buffer.from(JSON.stringify({ kind, apiVersion, metadata, ...rest }))
    return (await target.read([new CachedObject({ key: '', value, revision: 0 })]))[0]!.draft()
  }
  const copy = cloneJson(object as unknown as Json) as unknown as KubernetesObject
  from.conversion?.toStorage(copy)
  to.conversion?.fromStorage(copy)
  setTypeMeta(copy, to)
  return copy
}
