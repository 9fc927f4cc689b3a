import type { Kind } from '../../api/kind.ts'
import type { KubernetesObject } from '../../api/meta/object.ts'
import { ConflictError } from '../../store/store.ts'
import { setTypeMeta, stampNewObject } from '../objects/object-meta.ts'
import { catchUp, type Machinery } from '../registry/machinery.ts'
import { type EncodedObject, encodeObject } from '../watch-cache/encoding.ts'
import { objectKey } from '../watch-cache/storage-key.ts'

/** As many objects at a time as any store takes in one transaction. */
const BATCH = 100

/** One of them, as it will be stored. */
interface NewObject {
  readonly prefix: string
  readonly key: string
  readonly encoded: EncodedObject
}

/**
 * Makes those of the server's own objects that are not there yet, and returns the others. They are known to be good, and
 * many: a new cluster gets them in one write, without the long way through admission and validation. The objects that
 * are made become those of the cache: nobody may keep or share parts of them.
 */
export async function createMissing(
  machinery: Machinery,
  wanted: readonly KubernetesObject[],
): Promise<KubernetesObject[]> {
  for (;;) {
    const found: KubernetesObject[] = []
    const missing = await missingOf(machinery, wanted, found)
    try {
      for (let i = 0; i < missing.length; i += BATCH) await createAll(machinery, missing.slice(i, i + BATCH))
      return found
    } catch (error) {
      // Another API server on the same store makes them, too.
      if (!(error instanceof ConflictError)) throw error
      await catchUp(machinery)
    }
  }
}

async function createAll({ store, feed }: Machinery, objects: readonly NewObject[]): Promise<void> {
  const absent = objects.map(({ key }) => ({ key, revision: 0 }))
  const writes = objects.map(({ key, encoded: { value, revisionSlot } }) => ({ key, value, revisionSlot }))
  const takeBack = objects.map(({ prefix, key, encoded }) => feed.loaded(prefix)?.announce(key, encoded))
  try {
    await feed.reached(await store.commit(absent, writes))
  } finally {
    for (const take of takeBack) take?.()
  }
}

async function missingOf(
  machinery: Machinery,
  wanted: readonly KubernetesObject[],
  found: KubernetesObject[],
): Promise<NewObject[]> {
  const missing: NewObject[] = []
  for (const object of wanted) {
    const kind = kindOf(machinery, object)
    const { prefix } = machinery.kinds.placeOf(kind)
    const key = objectKey(prefix, kind.namespaced, object.metadata.namespace ?? '', object.metadata.name!)
    const cache = machinery.feed.loaded(prefix) ?? (await machinery.feed.cache(prefix))
    if (cache.get(key)) found.push(object)
    else missing.push({ prefix, key, encoded: encodeObject(newObject(machinery, kind, object)) })
  }
  return missing
}

function kindOf({ kinds }: Machinery, { apiVersion = '', kind = '' }: KubernetesObject): Kind {
  const slash = apiVersion.indexOf('/')
  const found = kinds.byKind(apiVersion.slice(0, Math.max(slash, 0)), apiVersion.slice(slash + 1), kind)
  if (!found) throw new Error(`${apiVersion} ${kind} is not served`)
  return found
}

/** Makes of a draft, which nobody else has, what the server would store, with the status it is given. */
export function newObject(
  { clock, random }: Pick<Machinery, 'clock' | 'random'>,
  kind: Kind,
  draft: KubernetesObject & { status?: unknown },
): KubernetesObject {
  const { status } = draft
  kind.defaults?.(draft)
  setTypeMeta(draft, kind)
  stampNewObject(draft, clock, random)
  kind.prepareCreate?.(draft)
  if (status !== undefined) draft.status = status
  return draft
}
