import type { Kind } from '../../api/kind.ts'
import type { KubernetesObject } from '../../api/meta/object.ts'
import { ConflictError, type Write } from '../../store/store.ts'
import { objectKey } from '../kind-table.ts'
import { encodeObject } from '../registry/encoding.ts'
import { cacheOf, catchUp, type Machinery } from '../registry/machinery.ts'
import { setTypeMeta, stampNewObject } from '../registry/object-meta.ts'

/** As many objects at a time as any store takes in one transaction. */
const BATCH = 100

/**
 * Makes those of the server's own objects that are not there yet. They are known to be good, and many: a new cluster
 * gets them in one write, without the long way through admission and validation.
 */
export async function createMissing(machinery: Machinery, wanted: readonly KubernetesObject[]): Promise<void> {
  for (let missing = await missingOf(machinery, wanted); missing.length > 0; ) {
    try {
      for (let i = 0; i < missing.length; i += BATCH) await createAll(machinery, missing.slice(i, i + BATCH))
      return
    } catch (error) {
      // Another API server on the same store makes them, too.
      if (!(error instanceof ConflictError)) throw error
      await catchUp(machinery)
      missing = await missingOf(machinery, wanted)
    }
  }
}

async function createAll({ store, feed }: Machinery, writes: readonly Write[]): Promise<void> {
  const absent = writes.map(({ key }) => ({ key, revision: 0 }))
  await feed.reached(await store.commit(absent, writes))
}

async function missingOf(machinery: Machinery, wanted: readonly KubernetesObject[]): Promise<Write[]> {
  const missing: Write[] = []
  for (const object of wanted) {
    const kind = kindOf(machinery, object)
    const { prefix } = machinery.kinds.placeOf(kind)
    const key = objectKey(prefix, kind.namespaced, object.metadata.namespace ?? '', object.metadata.name!)
    if ((await cacheOf(machinery, prefix)).get(key)) continue
    const { value, revisionSlot } = encodeObject(newObject(machinery, kind, object))
    missing.push({ key, value, revisionSlot })
  }
  return missing
}

function kindOf({ kinds }: Machinery, { apiVersion = '', kind = '' }: KubernetesObject): Kind {
  const slash = apiVersion.indexOf('/')
  const found = kinds.byKind(apiVersion.slice(0, Math.max(slash, 0)), apiVersion.slice(slash + 1), kind)
  if (!found) throw new Error(`${apiVersion} ${kind} is not served`)
  return found
}

/** As the server would store it, with the status it is given. */
export function newObject(
  { clock, random }: Pick<Machinery, 'clock' | 'random'>,
  kind: Kind,
  object: KubernetesObject,
): KubernetesObject {
  const draft = structuredClone(object) as KubernetesObject & { status?: unknown }
  const { status } = draft
  kind.defaults?.(draft)
  setTypeMeta(draft, kind)
  stampNewObject(draft, clock, random)
  kind.prepareCreate?.(draft)
  if (status !== undefined) draft.status = status
  return draft
}
