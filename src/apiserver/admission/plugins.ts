import { storagePrefix } from '../kind-table.ts'
import type { CacheFeed } from '../watch-cache/cache-feed.ts'
import { certificateRequester } from './certificate-requester.ts'
import { namespaceLifecycle } from './namespace-lifecycle.ts'
import type { AdmissionPlugin } from './plugin.ts'

const NAMESPACES = storagePrefix({ group: '', plural: 'namespaces' })

/** In this order they are asked. */
export function admissionPlugins(feed: CacheFeed): readonly AdmissionPlugin[] {
  return [
    namespaceLifecycle(async (name) => {
      const cache = feed.loaded(NAMESPACES) ?? (await feed.cache(NAMESPACES))
      return cache.get(NAMESPACES + name)?.object
    }),
    certificateRequester,
  ]
}
