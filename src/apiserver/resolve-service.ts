import type { Service } from '../api/generated/core-v1.ts'
import type { EndpointSlice } from '../api/generated/discovery-v1.ts'
import { LABEL } from '../api/meta/well-known.ts'
import { ELSEWHERE } from '../base/allowed-address.ts'
import type { Random } from '../base/random.ts'
import type { CacheFeed } from './watch-cache/cache-feed.ts'
import { storagePrefix } from './watch-cache/storage-key.ts'
import type { ServiceAddress } from './webhook-client/call-webhook.ts'

export interface ServiceTarget {
  readonly namespace: string
  readonly name: string
  readonly port: number
}

const SERVICES = storagePrefix({ group: '', plural: 'services' })
const SLICES = storagePrefix({ group: 'discovery.k8s.io', plural: 'endpointslices' })

/**
 * Where a Service can be reached from this process: one of its ready endpoints, or its own address while none is
 * known. The machine of the API server need not route cluster addresses. Services and endpoints are written by users of a
 * namespace, so they lead to other machines only, whatever name they use.
 */
export async function resolveService(
  feed: CacheFeed,
  random: Random,
  { namespace, name, port }: ServiceTarget,
): Promise<ServiceAddress | undefined> {
  const service = (await feed.cache(SERVICES)).get(`${SERVICES}${namespace}/${name}`)?.object as Service | undefined
  const spec = service?.spec
  if (!spec) return undefined
  if (spec.type === 'ExternalName') return elsewhere(spec.externalName ?? '', port)
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
      if (conditions?.ready !== false && ELSEWHERE.allows(addresses[0] ?? ''))
        found.push({ host: addresses[0]!, port: target, lookup: ELSEWHERE.lookup })
  }
  if (found.length > 0) return found[Math.floor(random.next() * found.length)]
  return spec.clusterIP && spec.clusterIP !== 'None' && !spec.selector ? elsewhere(spec.clusterIP, port) : undefined
}

const elsewhere = (host: string, port: number): ServiceAddress | undefined =>
  ELSEWHERE.allows(host) ? { host, port, lookup: ELSEWHERE.lookup } : undefined
