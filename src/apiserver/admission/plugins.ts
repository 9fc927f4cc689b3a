import { storagePrefix } from '../kind-table.ts'
import type { CacheFeed } from '../watch-cache/cache-feed.ts'
import { certificateRequester } from './certificate-requester.ts'
import { namespaceLifecycle } from './namespace-lifecycle.ts'
import type { AdmissionPlugin } from './plugin.ts'
import { runtimeClass } from './runtime-class.ts'

const NAMESPACES = storagePrefix({ group: '', plural: 'namespaces' })
const RUNTIME_CLASSES = storagePrefix({ group: 'node.k8s.io', plural: 'runtimeclasses' })

/** In this order they are asked. */
export function admissionPlugins(feed: CacheFeed): readonly AdmissionPlugin[] {
  const finder = (prefix: string) => async (name: string) => {
    const cache = feed.loaded(prefix) ?? (await feed.cache(prefix))
    return cache.get(prefix + name)?.object
  }
  return [namespaceLifecycle(finder(NAMESPACES)), runtimeClass(finder(RUNTIME_CLASSES)), certificateRequester]
}
