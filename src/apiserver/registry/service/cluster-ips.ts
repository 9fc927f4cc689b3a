import type { Service } from '../../../api/generated/core-v1.ts'
import { type ApiError, internalError, invalidObject } from '../../../api/meta/api-error.ts'
import { invalid } from '../../../api/meta/field-error.ts'
import { FieldPath } from '../../../api/meta/field-path.ts'
import type { KubernetesObject } from '../../../api/meta/object.ts'
import type { Clock } from '../../../base/clock.ts'
import { formatIP, type IPAddress, type IPFamily, parseIP } from '../../../base/ip-address.ts'
import type { Random } from '../../../base/random.ts'
import type { Store, Write } from '../../../store/store.ts'
import type { Claims } from './claims.ts'
import { drawOffset, RecentDraws } from './draw.ts'
import { belongsTo, newIPAddressObject } from './ip-address-object.ts'
import { KeyView } from './key-view.ts'
import {
  decodeIPAddress,
  IP_ADDRESS_PREFIX,
  ipAddressKey,
  SERVICE_CIDR_PREFIX,
  type ServiceRange,
  ServiceRanges,
} from './service-ranges.ts'

const CLUSTER_IPS = FieldPath.root('spec').child('clusterIPs')

export type Encode = (object: KubernetesObject) => Required<Pick<Write, 'value' | 'revisionSlot'>>

export interface ClusterIPSources {
  readonly store: Store
  readonly random: Random
  readonly clock: Clock
  readonly encode: Encode
}

/** Gives Services their addresses. Each one given is an IPAddress object, so that two servers cannot give it twice. */
export class ClusterIPs implements Disposable {
  readonly #sources: ClusterIPSources
  readonly #ranges = new ServiceRanges()
  readonly #cidrs: KeyView
  readonly #addresses: KeyView
  readonly #recent = new RecentDraws()

  constructor(sources: ClusterIPSources) {
    this.#sources = sources
    this.#cidrs = new KeyView(sources.store, SERVICE_CIDR_PREFIX, this.#ranges.cidrView)
    this.#addresses = new KeyView(sources.store, IP_ADDRESS_PREFIX, this.#ranges.addressView)
  }

  /** Families that Services can have in this cluster, the default one first. */
  async families(): Promise<IPFamily[]> {
    await this.#synced()
    const families = this.#ranges.families()
    if (families.length > 0) return families
    await this.#cidrs.refresh()
    return this.#ranges.families()
  }

  /** Takes the addresses a Service asks for, in `ips`; an empty text asks for any. Returns them all. */
  async take(claims: Claims, service: Service, families: readonly string[], ips: readonly string[]): Promise<string[]> {
    await this.#synced()
    const taken: string[] = []
    for (let i = 0; i < families.length; i++) {
      const wanted = ips[i]
      taken.push(
        wanted
          ? await this.#takeChosen(claims, service, wanted, ips)
          : await this.#takeAny(claims, service, families[i] as IPFamily),
      )
    }
    return taken
  }

  async release(claims: Claims, service: Service, ip: string): Promise<void> {
    const address = parseIP(ip)
    if (!address) return
    await claims.release(ipAddressKey(address), (entry) => belongsTo(decodeIPAddress(entry), service))
  }

  async #synced(): Promise<void> {
    await this.#cidrs.synced()
    await this.#addresses.synced()
  }

  /** The text stays as the user wrote it; the object is named canonically. */
  async #takeChosen(claims: Claims, service: Service, text: string, ips: readonly string[]): Promise<string> {
    const refuse = (why: string): ApiError =>
      invalidObject({ group: '', kind: 'Service' }, service.metadata.name ?? '', [
        invalid(CLUSTER_IPS, ips, `failed to allocate IP ${text}: ${why}`),
      ])
    const ip = parseIP(text)
    if (ip === undefined) throw internalError(`failed to parse service IP ${JSON.stringify(text)}`)
    if (!this.#ranges.readyRangeOf(ip)) await this.#cidrs.refresh()
    if (!this.#ranges.readyRangeOf(ip)) throw refuse('the provided network does not match the current range')
    if (await claims.isTaken(ipAddressKey(ip))) throw refuse('provided IP is already allocated')
    this.#claim(claims, service, ip)
    return text
  }

  async #takeAny(claims: Claims, service: Service, family: IPFamily): Promise<string> {
    const ip = (await this.#draw(claims, family)) ?? (await this.#drawAfterRefresh(claims, family))
    if (ip === undefined) {
      const name = JSON.stringify(service.metadata.name ?? '')
      throw internalError(`failed to allocate a serviceIP for Service ${name}: range is full`)
    }
    this.#claim(claims, service, ip)
    return formatIP(ip)
  }

  async #drawAfterRefresh(claims: Claims, family: IPFamily): Promise<IPAddress | undefined> {
    await this.#cidrs.refresh()
    await this.#addresses.refresh()
    return this.#draw(claims, family)
  }

  async #draw(claims: Claims, family: IPFamily): Promise<IPAddress | undefined> {
    for (const range of this.#ranges.ready(family)) {
      const ip = await this.#drawFrom(claims, range)
      if (ip !== undefined) return ip
    }
    return undefined
  }

  /** What the view takes for free is asked of the store, since the view may lag. */
  async #drawFrom(claims: Claims, range: ServiceRange): Promise<IPAddress | undefined> {
    const refused = new Set<number>()
    const isRecent = (offset: number) => this.#recent.has(ipAddressKey(range.address(offset)))
    for (;;) {
      const offset = drawOffset(range, range.used, refused, isRecent, this.#sources.random)
      if (offset === undefined) return undefined
      const ip = range.address(offset)
      if (!(await claims.isTaken(ipAddressKey(ip)))) return ip
      refused.add(offset)
    }
  }

  #claim(claims: Claims, service: Service, ip: IPAddress): void {
    const key = ipAddressKey(ip)
    this.#recent.add(key)
    claims.take(key, this.#sources.encode(newIPAddressObject(ip, service, this.#sources)))
  }

  [Symbol.dispose](): void {
    this.#cidrs[Symbol.dispose]()
    this.#addresses[Symbol.dispose]()
  }
}
