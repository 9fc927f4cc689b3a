import type { Service } from '../api/generated/core-v1.ts'
import type { EndpointSlice } from '../api/generated/discovery-v1.ts'
import { LABEL } from '../api/meta/well-known.ts'
import type { Random } from '../base/random.ts'
import type { CacheFeed } from './watch-cache/cache-feed.ts'
import { storagePrefix } from './watch-cache/storage-key.ts'

export interface ServiceTarget {
  readonly namespace: string
  readonly name: string
  readonly port: number
}

export interface ServiceAddress {
  readonly host: string
  readonly port: number
}

const SERVICES = storagePrefix({ group: '', plural: 'services' })
const SLICES = storagePrefix({ group: 'discovery.k8s.io', plural: 'endpointslices' })

/**
 * Where a Service can be reached from this process: one of its ready endpoints, or its own address while none is
 * known. The machine of the API server need not route cluster addresses.
 */
export async function resolveService(
  feed: CacheFeed,
  random: Random,
  { namespace, name, port }: ServiceTarget,
): Promise<ServiceAddress | undefined> {
  const service = (await feed.cache(SERVICES)).get(`${SERVICES}${namespace}/${name}`)?.object as Service | undefined
  const spec = service?.spec
  if (!spec) return undefined
  if (spec.type === 'ExternalName') return { host: spec.externalName ?? '', port }
  const servicePort = spec.ports?.find((one) => one.port === port)
  if (!servicePort) return undefined
  const keyPrefix = `${SLICES}${namespace}/`
  const scope = { id: keyPrefix, keyPrefix, exactKey: false, matches: undefined }
  const found: ServiceAddress[] = []
  for (const cached of (await feed.cache(SLICES)).select(scope)) {
    if (cached.labels[LABEL.serviceName] !== name) continue
    const slice = cached.object as unknown as EndpointSlice
    const target = slice.ports?.find((one) => (one.name ?? '') === (servicePort.name ?? ''))?.port
    if (target === undefined) continue
    for (const { addresses, conditions } of slice.endpoints ?? [])
      if (conditions?.ready !== false && addresses[0]) found.push({ host: addresses[0], port: target })
  }
  if (found.length > 0) return found[Math.floor(random.next() * found.length)]
  return spec.clusterIP && spec.clusterIP !== 'None' && !spec.selector ? { host: spec.clusterIP, port } : undefined
}
