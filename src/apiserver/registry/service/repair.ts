import type { Service } from '../../../api/generated/core-v1.ts'
import {
  hasNodePorts,
  isHeadless,
  needsClusterIP,
  needsHealthCheckNodePort,
  nodePortsOf,
  specOf,
} from '../../../api/kinds/core/service/service-type.ts'
import type { Clock } from '../../../base/clock.ts'
import { type IPAddress, parseIP } from '../../../base/ip-address.ts'
import type { Random } from '../../../base/random.ts'
import { type Condition, ConflictError, type Entry, type Store, type Write } from '../../../store/store.ts'
import type { Encode } from './cluster-ips.ts'
import { ALLOCATOR_NAME, belongsTo, MANAGED_BY_LABEL, newIPAddressObject } from './ip-address-object.ts'
import { decodeNodePortOwner, encodeNodePortOwner, NODE_PORT_PREFIX, nodePortKey, nodePortOwner } from './node-ports.ts'
import { decodeIPAddress, IP_ADDRESS_PREFIX, ipAddressKey } from './service-ranges.ts'

const SERVICE_PREFIX = '/registry/services/'
const INTERVAL = 3 * 60_000

export interface RepairOptions {
  readonly store: Store
  readonly random: Random
  readonly clock: Clock
  readonly encode: Encode
}

/** What was found and set right. */
export interface RepairReport {
  /** Held by no Service any more, given back. */
  readonly released: readonly string[]
  /** Used by a Service but not held for it, taken. */
  readonly restored: readonly string[]
  /** Used by two Services, or registered for something else: only a user can decide which one goes. */
  readonly clashes: readonly string[]
}

/**
 * Services and what is allocated to them are written in one commit, so they disagree only when somebody edits an
 * IPAddress, restores a backup in part, or writes to the store behind our back. Every correction is made on condition
 * that neither side has changed since it was read.
 */
export async function repairServiceAllocations(options: RepairOptions): Promise<RepairReport> {
  const { store } = options
  const services = await store.list(SERVICE_PREFIX)
  const at = services.revision
  const held = await Promise.all([store.list(IP_ADDRESS_PREFIX, { at }), store.list(NODE_PORT_PREFIX, { at })])
  const report = { released: [] as string[], restored: [] as string[], clashes: [] as string[] }
  const wanted = wantedKeys(services.entries, report.clashes)
  const present = new Map(held.flatMap((page) => page.entries.map((entry) => [entry.key, entry] as const)))
  for (const entry of present.values()) {
    if (!wanted.has(entry.key) && isOurs(entry) && (await releaseOrphan(store, entry))) report.released.push(entry.key)
  }
  for (const want of wanted.values()) {
    const entry = present.get(want.key)
    if (entry && isHeldFor(entry, want.service)) continue
    if (entry && !isOurs(entry)) report.clashes.push(want.key)
    else if (await restore(options, want, entry)) report.restored.push(want.key)
  }
  return report
}

/** Repairs now and then every few minutes, until the signal aborts. `failed` hears of what went wrong. */
export async function keepServiceAllocationsRepaired(
  options: RepairOptions & { readonly interval?: number },
  signal: AbortSignal,
  failed: (error: unknown) => void,
): Promise<void> {
  while (!signal.aborted) {
    await repairServiceAllocations(options).catch(failed)
    await options.clock.sleep(options.interval ?? INTERVAL, signal).catch(() => {})
  }
}

/** A key that a Service uses. */
interface Want {
  readonly key: string
  readonly service: Service
  readonly entry: Entry
  readonly ip?: IPAddress
}

/** The older of two Services that use the same key has it. */
function wantedKeys(entries: readonly Entry[], clashes: string[]): Map<string, Want> {
  const wanted = new Map<string, Want>()
  const byAge = [...entries].sort((a, b) => a.created - b.created)
  for (const entry of byAge) {
    const service = JSON.parse(entry.value.toString()) as Service
    for (const want of wantsOf(service, entry)) {
      const known = wanted.get(want.key)
      if (known === undefined) wanted.set(want.key, want)
      else if (known.entry !== entry) clashes.push(want.key)
    }
  }
  return wanted
}

function wantsOf(service: Service, entry: Entry): Want[] {
  const spec = specOf(service)
  const wants: Want[] = []
  if (needsClusterIP(spec) && !isHeadless(spec)) {
    for (const text of spec.clusterIPs ?? []) {
      const ip = parseIP(text)
      if (ip) wants.push({ key: ipAddressKey(ip), service, entry, ip })
    }
  }
  const ports = new Set(hasNodePorts(spec) ? nodePortsOf(spec) : [])
  if (needsHealthCheckNodePort(spec) && spec.healthCheckNodePort) ports.add(spec.healthCheckNodePort)
  for (const port of ports) wants.push({ key: nodePortKey(port), service, entry })
  return wants
}

/** Addresses that users or others registered are theirs. */
function isOurs(entry: Entry): boolean {
  if (!entry.key.startsWith(IP_ADDRESS_PREFIX)) return true
  return decodeIPAddress(entry).metadata.labels?.[MANAGED_BY_LABEL] === ALLOCATOR_NAME
}

function isHeldFor(entry: Entry, service: Service): boolean {
  if (entry.key.startsWith(IP_ADDRESS_PREFIX)) return belongsTo(decodeIPAddress(entry), service)
  return decodeNodePortOwner(entry).uid === service.metadata.uid
}

/** The Service it names must still be absent or unchanged, or a creation under way would lose its address. */
async function releaseOrphan(store: Store, entry: Entry): Promise<boolean> {
  const key = ownerKey(entry)
  const conditions: Condition[] = [{ key: entry.key, revision: entry.revision }]
  if (key !== undefined) {
    const owner = await store.get(key)
    if (owner !== undefined && usesKey(owner, entry.key)) return false
    conditions.push({ key, revision: owner?.revision ?? 0 })
  }
  return tryCommit(store, conditions, [{ key: entry.key }])
}

const usesKey = (owner: Entry, key: string) =>
  wantsOf(JSON.parse(owner.value.toString()) as Service, owner).some((want) => want.key === key)

/** The key of the Service that an allocation names, if it names one. */
function ownerKey(entry: Entry): string | undefined {
  if (!entry.key.startsWith(IP_ADDRESS_PREFIX)) {
    const { namespace, name } = decodeNodePortOwner(entry)
    return `${SERVICE_PREFIX}${namespace}/${name}`
  }
  const parent = decodeIPAddress(entry).spec?.parentRef
  return parent?.resource === 'services' ? `${SERVICE_PREFIX}${parent.namespace}/${parent.name}` : undefined
}

function restore(options: RepairOptions, want: Want, found: Entry | undefined): Promise<boolean> {
  const conditions: Condition[] = [
    { key: want.entry.key, revision: want.entry.revision },
    { key: want.key, revision: found?.revision ?? 0 },
  ]
  const write: Omit<Write, 'key'> = want.ip
    ? options.encode(newIPAddressObject(want.ip, want.service, options))
    : { value: encodeNodePortOwner(nodePortOwner(want.service)) }
  return tryCommit(options.store, conditions, [{ ...write, key: want.key }])
}

/** False if one side has changed meanwhile: the next round looks again. */
async function tryCommit(store: Store, conditions: Condition[], writes: Write[]): Promise<boolean> {
  try {
    await store.commit(conditions, writes)
    return true
  } catch (error) {
    if (error instanceof ConflictError) return false
    throw error
  }
}
