import type { APIServiceCondition, APIServiceSpec } from '../../api/generated/apiregistration-v1.ts'
import type { Service } from '../../api/generated/core-v1.ts'
import type { EndpointSlice } from '../../api/generated/discovery-v1.ts'
import { LABEL } from '../../api/meta/well-known.ts'
import type { CacheFeed } from '../watch-cache/cache-feed.ts'
import { storagePrefix } from '../watch-cache/storage-key.ts'
import { identityHeaders } from './hand-on.ts'
import type { RemoteAnswer } from './remote-client.ts'
import type { RemoteService } from './remote-service.ts'

const DISCOVERY_TIMEOUT_MS = 5000
const SERVICES = storagePrefix({ group: '', plural: 'services' })
const SLICES = storagePrefix({ group: 'discovery.k8s.io', plural: 'endpointslices' })

export type Availability = Pick<APIServiceCondition, 'status' | 'reason' | 'message'>

export const AGGREGATOR = identityHeaders({ name: 'system:kube-aggregator', groups: ['system:masters'] }) as Record<
  string,
  string
>

const no = (reason: string, message: string): Availability => ({ status: 'False', reason, message })

/** Whether an extension API server can be used, and what it serves if so. */
export async function checkAvailability(
  feed: CacheFeed,
  remote: RemoteService,
): Promise<{ readonly availability: Availability; readonly discovery?: RemoteAnswer }> {
  const missing = await checkService(feed, remote.object.spec!)
  if (missing) return { availability: missing }
  const path = `/apis/${remote.group}/${remote.version}`
  const url = `https://${remote.client.host}${path}`
  try {
    const discovery = await remote.client.get(path, { ...AGGREGATOR, accept: 'application/json' }, DISCOVERY_TIMEOUT_MS)
    if (discovery.status >= 200 && discovery.status < 300)
      return { availability: { status: 'True', reason: 'Passed', message: 'all checks passed' }, discovery }
    return {
      availability: no(
        'FailedDiscoveryCheck',
        `failing or missing response from ${url}: bad status from ${url}: ${discovery.status}`,
      ),
    }
  } catch (error) {
    const why = (error as Error).message
    return { availability: no('FailedDiscoveryCheck', `failing or missing response from ${url}: ${why}`) }
  }
}

async function checkService(feed: CacheFeed, spec: APIServiceSpec): Promise<Availability | undefined> {
  const { name = '', namespace = '', port = 443 } = spec.service ?? {}
  const what = `service/${name} in ${JSON.stringify(namespace)}`
  const found = (await feed.cache(SERVICES)).get(`${SERVICES}${namespace}/${name}`)?.object as Service | undefined
  if (!found?.spec) return no('ServiceNotFound', `${what} is not present`)
  if (found.spec.type === 'ExternalName') return undefined
  const servicePort = found.spec.ports?.find((one) => one.port === port)
  if (!servicePort) return no('ServicePortError', `${what} is not listening on port ${port}`)
  const slices = await slicesOf(feed, namespace, name)
  if (slices.length === 0) return no('EndpointsNotFound', `cannot find endpointslices for ${what}`)
  const portName = servicePort.name ?? ''
  const isServed = slices.some(
    ({ ports, endpoints }) =>
      ports?.some((one) => (one.name ?? '') === portName && one.port !== undefined) &&
      endpoints?.some(({ addresses, conditions }) => conditions?.ready !== false && addresses.length > 0),
  )
  if (isServed) return undefined
  return no('MissingEndpoints', `endpoints for ${what} have no addresses with port name ${JSON.stringify(portName)}`)
}

async function slicesOf(feed: CacheFeed, namespace: string, service: string): Promise<EndpointSlice[]> {
  const keyPrefix = `${SLICES}${namespace}/`
  const scope = { id: keyPrefix, keyPrefix, exactKey: false, matches: undefined }
  return (await feed.cache(SLICES))
    .select(scope)
    .filter(({ labels }) => labels[LABEL.serviceName] === service)
    .map(({ object }) => object as unknown as EndpointSlice)
}
