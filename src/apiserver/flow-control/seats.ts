import type { ResourceInfo } from '../http/request-info.ts'
import { storagePrefix } from '../kind-table.ts'
import type { Query } from '../registry/query.ts'
import type { ResourceCache } from '../watch-cache/resource-cache.ts'

/** What is known of a resource's objects. */
export interface ResourceSizes {
  loaded(prefix: string): Pick<ResourceCache, 'size' | 'averageBytes'> | undefined
}

/** A list takes a seat for so many bytes of objects; from a cache, which is sent as it is, no more than ten. */
const BYTES_PER_SEAT = 100_000
const MOST_BYTES = 1_000_000

/** Asks for one object by its name. */
const ONE_NAME = /^metadata\.name={1,2}[^=,]+$/

/** How many seats a request takes. */
export function seatsOf(verb: string, info: ResourceInfo, query: Query, sizes: ResourceSizes): number {
  if (!beginsWithList(verb, query) || info.name !== '') return 1
  if (ONE_NAME.test(query.get('fieldSelector'))) return 1
  const known = sizes.loaded(storagePrefix({ group: info.group, plural: info.resource }))
  if (!known) return 1
  const limit = Number(query.get('limit'))
  const objects = limit > 0 ? Math.min(limit, known.size) : known.size
  return Math.max(1, Math.ceil(Math.min(objects * known.averageBytes, MOST_BYTES) / BYTES_PER_SEAT))
}

/** A watch that does not go on from a version begins with all there is. */
function beginsWithList(verb: string, query: Query): boolean {
  if (verb !== 'watch') return verb === 'list'
  const version = query.get('resourceVersion')
  return version === '' || version === '0' || query.flag('sendInitialEvents')
}
