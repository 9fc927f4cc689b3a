import type { ResourceInfo } from '../http/request-info.ts'
import { storagePrefix } from '../kind-table.ts'
import type { ResourceCache } from '../watch-cache/resource-cache.ts'

/** What is known of a resource's objects. */
export interface ResourceSizes {
  loaded(prefix: string): Pick<ResourceCache, 'size' | 'averageBytes'> | undefined
}

/** A list takes a seat for so many bytes of objects; from a cache, which is sent as it is, no more than ten. */
const BYTES_PER_SEAT = 100_000
const MOST_BYTES = 1_000_000

const LIMIT = /(?:^|&)limit=(\d+)/
const ONE_NAME = /(?:^|&)fieldSelector=metadata\.name(?:=|%3D){1,2}[^&,%=]+(?:&|$)/i
const FROM_VERSION = /(?:^|&)resourceVersion=(?!0?(?:&|$))/
const INITIAL_EVENTS = /(?:^|&)sendInitialEvents=(?:1|true)(?:&|$)/

/** How many seats a request takes. */
export function seatsOf(verb: string, info: ResourceInfo, query: string, sizes: ResourceSizes): number {
  if (!beginsWithList(verb, query) || info.name !== '' || ONE_NAME.test(query)) return 1
  const known = sizes.loaded(storagePrefix({ group: info.group, plural: info.resource }))
  if (!known) return 1
  const limit = Number(LIMIT.exec(query)?.[1] ?? 0)
  const objects = limit > 0 ? Math.min(limit, known.size) : known.size
  return Math.max(1, Math.ceil(Math.min(objects * known.averageBytes, MOST_BYTES) / BYTES_PER_SEAT))
}

/** A watch that does not go on from a version begins with all there is. */
function beginsWithList(verb: string, query: string): boolean {
  if (verb !== 'watch') return verb === 'list'
  return !FROM_VERSION.test(query) || INITIAL_EVENTS.test(query)
}
