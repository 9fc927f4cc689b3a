import { formatIP, isLoopback, parseCIDR, parseIP } from '../../base/ip-address.ts'
import type { Transport } from '../../client/transport.ts'
import { localServices } from '../aggregation/local-services.ts'
import { initialRoles, reconcileDefaultRoles } from '../authorization/policy/reconcile-roles.ts'
import { initialFlowControlObjects } from '../flow-control/keep-objects.ts'
import type { Machinery } from '../registry/machinery.ts'
import { createMissing } from './create-missing.ts'
import { initialObjects } from './initial-objects.ts'
import {
  type Address,
  ensureKubernetesService,
  kubernetesEndpoints,
  publishKubernetesEndpoints,
} from './kubernetes-service.ts'
import { keepServerLeases } from './server-leases.ts'

export interface BootstrapOptions {
  readonly serviceCidrs: readonly string[]
  readonly advertise?: Address
}

const DEFAULT_PORT = 6443

/**
 * What every cluster has from its first moment on: most of it in one write, then the Service that leads here. Where other
 * servers share the store, it leads to all of them, as long as what this returns is not disposed.
 */
export async function bootstrap(
  machinery: Machinery,
  transport: Transport,
  options: BootstrapOptions,
): Promise<AsyncDisposable | undefined> {
  const { feed, kinds, clock } = machinery
  const { serviceCidrs, advertise } = options
  // Endpoints may not be loopback addresses: a machine without a network has none to tell.
  const told = advertise && !isLoopbackHost(advertise.host) ? advertise : undefined
  const foundBefore = await createMissing(machinery, [
    ...initialObjects(clock, serviceCidrs),
    ...initialRoles(),
    ...initialFlowControlObjects(clock),
    ...localServices(kinds.list()),
    ...(told ? kubernetesEndpoints([told]) : []),
  ])
  await reconcileDefaultRoles(transport, feed, foundBefore)
  await ensureKubernetesService(feed, transport, firstAddress(serviceCidrs[0]!), advertise?.port ?? DEFAULT_PORT)
  if (!told) return undefined
  const publish = (servers: readonly Address[]) => publishKubernetesEndpoints(feed, transport, servers)
  if (!machinery.sharedStore) return void (await publish([told]))
  const leases = keepServerLeases(machinery, told, publish)
  await leases.published
  return leases
}

function isLoopbackHost(host: string): boolean {
  const ip = parseIP(host)
  return ip === undefined || isLoopback(ip)
}

/** 10.96.0.0/16 -> 10.96.0.1 */
function firstAddress(cidr: string): string {
  const range = parseCIDR(cidr)
  if (!range) throw new Error(`${cidr} is not an address range such as 10.96.0.0/16`)
  return formatIP({ family: range.family, value: range.first + 1n })
}
