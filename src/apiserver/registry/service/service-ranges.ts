import type { IPAddress as IPAddressObject, ServiceCIDR } from '../../../api/generated/networking-v1.ts'
import { isConditionFalse } from '../../../api/meta/conditions.ts'
import {
  type CIDR,
  cidrContains,
  cidrSize,
  formatCIDR,
  formatIP,
  type IPAddress,
  type IPFamily,
  parseCIDR,
  parseIP,
} from '../../../base/ip-address.ts'
import type { Change, Entry } from '../../../store/store.ts'
import { type Band, reservedPart } from './draw.ts'
import type { ViewTarget } from './key-view.ts'
import { OffsetSet } from './offset-set.ts'

export const SERVICE_CIDR_PREFIX = '/registry/servicecidrs.networking.k8s.io/'
export const IP_ADDRESS_PREFIX = '/registry/ipaddresses.networking.k8s.io/'
export const ipAddressKey = (ip: IPAddress) => IP_ADDRESS_PREFIX + formatIP(ip)

/** The range the cluster was made with. */
export const DEFAULT_RANGE = 'kubernetes'

const RESERVED = { share: 16, least: 16, most: 256 }
/** Offsets are plain numbers; of a larger range only so much is drawn from. Nobody fills that. */
const MAX_SIZE = 2 ** 52

/** One CIDR that addresses are given from, without its network address and, for IPv4, its broadcast address. */
export class ServiceRange implements Band {
  readonly cidr: CIDR
  readonly size: number
  readonly reserved: number
  readonly used = new OffsetSet()
  readonly #first: bigint

  constructor(cidr: CIDR) {
    this.cidr = cidr
    this.#first = cidr.first + 1n
    const unusable = cidr.family === 'IPv4' ? 2n : 1n
    const total = cidrSize(cidr)
    this.size = Math.min(Math.max(Number(total - unusable), 0), MAX_SIZE)
    this.reserved = reservedPart(Math.min(Number(total), MAX_SIZE), RESERVED)
  }

  has(ip: IPAddress): boolean {
    if (!cidrContains(this.cidr, ip) || ip.value < this.#first) return false
    return ip.family === 'IPv6' || ip.value < this.cidr.last
  }

  address(offset: number): IPAddress {
    return { family: this.cidr.family, value: this.#first + BigInt(offset) }
  }

  mark(ip: IPAddress, isUsed: boolean): void {
    if (!this.has(ip)) return
    const offset = Number(ip.value - this.#first)
    if (offset >= this.size) return
    if (isUsed) this.used.add(offset)
    else this.used.delete(offset)
  }
}

/** The ranges of the cluster and which of their addresses are taken, as far as this server has heard. */
export class ServiceRanges {
  readonly #objects = new Map<string, ServiceCIDR>()
  readonly #taken = new Map<string, IPAddress>()
  #ranges = new Map<string, ServiceRange>()
  #ready: ServiceRange[] = []

  readonly cidrView: ViewTarget = {
    reset: (entries) => {
      this.#objects.clear()
      for (const entry of entries) this.#putObject(entry)
      this.#rebuild()
    },
    apply: (changes) => {
      for (const change of changes) {
        if (change.entry) this.#putObject(change.entry)
        else this.#objects.delete(change.key)
      }
      if (changes.length > 0) this.#rebuild()
    },
  }

  readonly addressView: ViewTarget = {
    reset: (entries) => {
      this.#taken.clear()
      for (const range of this.#ranges.values()) range.used.clear()
      for (const entry of entries) this.#markKey(entry.key, true)
    },
    apply: (changes: readonly Change[]) => {
      for (const change of changes) this.#markKey(change.key, change.entry !== undefined)
    },
  }

  /** Ranges that may be drawn from, the cluster's own first. */
  ready(family: IPFamily): ServiceRange[] {
    return this.#ready.filter((range) => range.cidr.family === family)
  }

  readyRangeOf(ip: IPAddress): ServiceRange | undefined {
    return this.#ready.find((range) => range.has(ip))
  }

  /** Families that Services can have here, the default one first. */
  families(): IPFamily[] {
    const own = this.#objects.get(SERVICE_CIDR_PREFIX + DEFAULT_RANGE)
    const objects = own ? [own] : this.#objects.values()
    const families = new Set<IPFamily>()
    for (const object of objects) for (const cidr of cidrsOf(object)) families.add(cidr.family)
    return [...families]
  }

  #putObject(entry: Entry): void {
    this.#objects.set(entry.key, JSON.parse(entry.value.toString()) as ServiceCIDR)
  }

  #markKey(key: string, isUsed: boolean): void {
    const name = key.slice(IP_ADDRESS_PREFIX.length)
    const ip = parseIP(name)
    if (ip === undefined) return
    if (isUsed) this.#taken.set(name, ip)
    else this.#taken.delete(name)
    for (const range of this.#ranges.values()) range.mark(ip, isUsed)
  }

  /** Ranges that stay keep what is known of them. */
  #rebuild(): void {
    const ranges = new Map<string, ServiceRange>()
    const ready: ServiceRange[] = []
    for (const object of this.#inOrder()) {
      for (const cidr of cidrsOf(object)) {
        const text = formatCIDR(cidr)
        const range = ranges.get(text) ?? this.#ranges.get(text) ?? this.#newRange(cidr)
        ranges.set(text, range)
        if (isReady(object) && !ready.includes(range)) ready.push(range)
      }
    }
    this.#ranges = ranges
    this.#ready = ready
  }

  #inOrder(): ServiceCIDR[] {
    const rank = (object: ServiceCIDR) => (object.metadata.name === DEFAULT_RANGE ? '' : (object.metadata.name ?? ''))
    return [...this.#objects.values()].sort((a, b) => (rank(a) < rank(b) ? -1 : 1))
  }

  #newRange(cidr: CIDR): ServiceRange {
    const range = new ServiceRange(cidr)
    for (const ip of this.#taken.values()) range.mark(ip, true)
    return range
  }
}

const cidrsOf = (object: ServiceCIDR): CIDR[] =>
  (object.spec?.cidrs ?? []).flatMap((text) => {
    const cidr = parseCIDR(text)
    return cidr ? [cidr] : []
  })

/** A range that nobody has judged yet counts as ready: the controller that judges may not run. */
function isReady(object: ServiceCIDR): boolean {
  return object.metadata.deletionTimestamp === undefined && !isConditionFalse(object.status?.conditions, 'Ready')
}

/** The object behind a stored address. */
export const decodeIPAddress = (entry: Entry) => JSON.parse(entry.value.toString()) as IPAddressObject
