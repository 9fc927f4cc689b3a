import type { Kind } from '../../api/kind.ts'
import { ApiError } from '../../api/meta/api-error.ts'
import { MASTERS } from '../authorization/authorizer.ts'
import { deleteNamed } from '../registry/delete.ts'
import { parseDeleteOptions } from '../registry/delete-options.ts'
import { cacheOf, type Machinery } from '../registry/machinery.ts'
import { Query } from '../request/query.ts'
import type { ResourceRequest } from '../request/resource-request.ts'
import type { CachedObject } from '../watch-cache/cached-object.ts'

/** How many deletions are under way at once. */
const WORKERS = 64

/** Deletes every object of a kind, and says how many are still there because something holds them. */
export async function deleteInstances(machinery: Machinery, kind: Kind): Promise<number> {
  const { prefix } = machinery.kinds.placeOf(kind)
  const cache = await cacheOf(machinery, prefix)
  const all = { id: prefix, keyPrefix: prefix, exactKey: false, matches: undefined }
  const queue = cache.select(all).filter(({ object }) => object.metadata.deletionTimestamp === undefined)
  const work = async () => {
    for (let next = queue.pop(); next; next = queue.pop()) await deleteInstance(machinery, kind, next)
  }
  await Promise.all(Array.from({ length: Math.min(WORKERS, queue.length) }, work))
  return cache.size
}

async function deleteInstance(machinery: Machinery, kind: Kind, object: CachedObject): Promise<void> {
  const { name = '', namespace = '' } = object.object.metadata
  const request: ResourceRequest = {
    kind,
    subresource: '',
    namespace,
    name,
    query: Query.of(undefined),
    user: { name: 'system:apiserver', groups: [MASTERS] },
    userAgent: 'apiserver',
    body: undefined,
    warnings: [],
  }
  try {
    await deleteNamed(machinery, request, parseDeleteOptions(request))
  } catch (error) {
    if (!(error instanceof ApiError && error.code === 404)) throw error
  }
}
