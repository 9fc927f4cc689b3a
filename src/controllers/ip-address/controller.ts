import type { Service } from '../../api/generated/core-v1.ts'
import type { IPAddress } from '../../api/generated/networking-v1.ts'
import { serviceKind } from '../../api/kinds/core/service/kind.ts'
import { ipAddressKind } from '../../api/kinds/networking/ip-address.ts'
import { ApiError } from '../../api/meta/api-error.ts'
import { parseTime } from '../../api/meta/time.ts'
import { LABEL } from '../../api/meta/well-known.ts'
import { formatIP, parseIP } from '../../base/ip-address.ts'
import { type Controller, type ControllerContext, watch } from '../controller.ts'

const ALLOCATOR = 'ipallocator.k8s.io'
/** An address is registered a moment before its Service is seen: a young one is left alone. */
const YOUNG = 60_000

const serviceIndexes = { clusterIP: (service: Service) => clusterIPsOf(service) }

/** Sets right what disagrees about the addresses of Services: registered for nobody, or used and not registered. */
export function ipAddressController({ client, informers, clock, events }: ControllerContext): Controller {
  const services = informers.informer(serviceKind, { indexes: serviceIndexes })
  const addresses = informers.informer(ipAddressKind)
  const resource = client.resource(ipAddressKind)

  async function reconcile(name: string) {
    const address = addresses.get(name)
    const [service] = services.byIndex('clusterIP', name)
    if (!address) return service && register(name, service)
    if (address.metadata.labels?.[LABEL.ipAddressManagedBy] !== ALLOCATOR) return
    if (service && isFor(address, service)) return
    if (service) {
      const message = `Cluster IP [${familyOf(name)}]:${name} has a wrong reference; repairing`
      events.event(service, 'Warning', 'ClusterIPNotAllocated', message)
      return void (await remove(address))
    }
    const age = clock.now() - (parseTime(address.metadata.creationTimestamp ?? '') ?? 0)
    if (age < YOUNG) return { retryAfter: YOUNG - age }
    events.event(
      address,
      'Warning',
      'IPAddressNotAllocated',
      `IPAddress: ${name} for Service ${parentOf(address)} appears to have leaked: cleaning up`,
    )
    await remove(address)
  }

  async function register(name: string, service: Service): Promise<void> {
    // Written together with its Service, it may only not have been seen yet.
    if (await exists(name)) return
    const message = `Cluster IP [${familyOf(name)}]:${name} is not allocated; repairing`
    events.event(service, 'Warning', 'ClusterIPNotAllocated', message)
    const { name: serviceName = '', namespace = '' } = service.metadata
    const labels = { [LABEL.ipFamily]: familyOf(name), [LABEL.ipAddressManagedBy]: ALLOCATOR }
    const parentRef = { group: '', resource: 'services', name: serviceName, namespace }
    await resource.create({ metadata: { name, labels }, spec: { parentRef } }).catch(ignore(409))
  }

  async function exists(name: string): Promise<boolean> {
    const found = await resource.get(name).catch(ignore(404))
    return found !== undefined
  }

  async function remove({ metadata: { name = '', uid = '' } }: IPAddress): Promise<void> {
    await resource.delete(name, { preconditions: { uid } }).catch(ignore(404))
  }

  return {
    name: 'ip-address-controller',
    watches: [
      watch(addresses, (old, current) => [(current ?? old)!.metadata.name ?? '']),
      watch(services, (old, current) => {
        if (old && current && clusterIPsOf(old).join() === clusterIPsOf(current).join()) return []
        return [...(old ? clusterIPsOf(old) : []), ...(current ? clusterIPsOf(current) : [])]
      }),
    ],
    reconcile,
  }
}

function clusterIPsOf({ spec }: Service): string[] {
  if (spec?.type === 'ExternalName') return []
  const ips = spec?.clusterIPs ?? (spec?.clusterIP ? [spec.clusterIP] : [])
  return ips.flatMap((text) => {
    const ip = parseIP(text)
    return ip ? [formatIP(ip)] : []
  })
}

function isFor({ spec }: IPAddress, { metadata }: Service): boolean {
  const { group = '', resource, namespace, name } = spec?.parentRef ?? {}
  return group === '' && resource === 'services' && namespace === metadata.namespace && name === metadata.name
}

const parentOf = ({ spec }: IPAddress) => `${spec?.parentRef.namespace ?? ''}/${spec?.parentRef.name ?? ''}`

const familyOf = (ip: string) => (ip.includes(':') ? 'IPv6' : 'IPv4')

const ignore = (code: number) => (error: unknown) => {
  if (error instanceof ApiError && error.code === code) return undefined
  throw error
}
