import { ApiError } from '../../api/meta/api-error.ts'
import type { ResourceRequest } from '../request/resource-request.ts'
import type { CachedObject } from '../watch-cache/cached-object.ts'
import type { Answer } from './answer.ts'
import { deleteNamed } from './delete.ts'
import { parseDeleteOptions } from './delete-options.ts'
import { list } from './list.ts'
import type { Machinery } from './machinery.ts'

/** How many deletions of one collection are under way at once; they share the store's batches. */
const WORKERS = 64

/** DELETE of all objects that a list with the same selectors would show. */
export async function deleteCollection(machinery: Machinery, request: ResourceRequest): Promise<Answer> {
  const options = parseDeleteOptions(request)
  const listed = await list(machinery, request)
  if (listed.type !== 'list') return listed
  const queue = [...listed.list.objects].reverse()
  const work = async () => {
    for (let next = queue.pop(); next; next = queue.pop()) await deleteListed(next)
  }
  const deleteListed = async (object: CachedObject) => {
    const { name, namespace } = object.object.metadata
    try {
      await deleteNamed(machinery, { ...request, name: name!, namespace: namespace ?? '' }, options)
    } catch (error) {
      // Somebody else deleted it: that is what was asked for.
      if (!(error instanceof ApiError && error.code === 404)) throw error
    }
  }
  await Promise.all(Array.from({ length: WORKERS }, work))
  return listed
}
