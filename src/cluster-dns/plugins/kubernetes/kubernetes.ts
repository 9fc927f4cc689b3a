/** The names of the cluster: https://github.com/kubernetes/dns/blob/master/docs/specification.md, version 1.1.0. */

import type { Service } from '../../../api/generated/core-v1.ts'
import { LABEL } from '../../../api/meta/well-known.ts'
import { type Answer, type DnsPlugin, type DnsRequest, emptyReply, whenAnswered } from '../../plugin.ts'
import { CLASS_IN, RCODES, TYPES } from '../../wire/constants.ts'
import type { DnsRecord, Question, Reply } from '../../wire/message.ts'
import { canonicalName, isWithin } from '../../wire/names.ts'
import { addressOfReverseName } from '../../wire/reverse-names.ts'
import { addressOfLabel, type ClusterName, parseClusterName } from './cluster-names.ts'
import { type ClusterObjects, canonical, isPublished } from './cluster-objects.ts'
import {
  addressRecords,
  endpointLabel,
  endpointTargets,
  isHeadless,
  ownTargets,
  srvRecords,
  type Target,
} from './service-records.ts'

export interface KubernetesOptions {
  readonly objects: ClusterObjects
  /** Of the cluster, and where reverse names are answered: `cluster.local`, `in-addr.arpa`, `ip6.arpa`. */
  readonly zones: readonly string[]
  /** `insecure`: any `1-2-3-4.ns.pod` is believed; `verified`: only of pods that exist. */
  readonly pods: 'disabled' | 'insecure' | 'verified'
  readonly ttl: number
  /** Zones whose unknown names the next plugin is asked for; undefined: none. */
  readonly fallthrough: readonly string[] | undefined
  /** The addresses this server is reached by, for the zone's own name server. */
  readonly ownAddresses: () => readonly string[]
  /** Of the zone: it grows when something changes. */
  readonly serial: () => number
}

const VERSION = '1.1.0'
const MINIMUM_TTL = 30

export function kubernetesPlugin(options: KubernetesOptions): DnsPlugin {
  const zones = options.zones.map(canonicalName)
  const fallthrough = options.fallthrough?.map(canonicalName)
  const zoneOf = (name: string) => zones.filter((zone) => isWithin(name, zone)).sort((a, b) => b.length - a.length)[0]
  return {
    name: 'kubernetes',
    answer(request, next) {
      const { question } = request
      const zone = question.class === CLASS_IN ? zoneOf(question.name) : undefined
      if (zone === undefined) return next()
      if (!options.objects.isSynced()) return emptyReply(RCODES.SERVFAIL)
      const lookup = new Lookup(options, zone, request)
      const reply = isReverse(zone) ? lookup.reverse() : lookup.forward()
      if (reply === undefined) {
        const passes = fallthrough?.some((passed) => isWithin(question.name, passed))
        return passes ? next() : lookup.kept(lookup.negative(RCODES.NXDOMAIN))
      }
      return whenAnswered(reply, (known) =>
        lookup.kept(known.answers.length === 0 ? lookup.negative(known.rcode) : known),
      )
    },
    notReady: () => (options.objects.isSynced() ? undefined : 'kubernetes'),
    async [Symbol.asyncDispose]() {
      options.objects[Symbol.dispose]()
    },
  }
}

const isReverse = (zone: string) => isWithin(zone, 'in-addr.arpa') || isWithin(zone, 'ip6.arpa')

/** One question. Its methods answer undefined where there is no such name, and a reply without records where it has none. */
class Lookup {
  readonly #options: KubernetesOptions
  readonly #zone: string
  readonly #request: DnsRequest
  readonly #question: Question
  /** What the answer was made of; undefined if that cannot be said. */
  #dependsOn: string[] | undefined = []

  constructor(options: KubernetesOptions, zone: string, request: DnsRequest) {
    this.#options = options
    this.#zone = zone
    this.#request = request
    this.#question = request.question
  }

  /** The reply, with what it depends on: until that changes it need not be made again. */
  kept(reply: Reply): Reply {
    return this.#dependsOn ? { ...reply, keep: { dependsOn: this.#dependsOn } } : reply
  }

  forward(): Answer | undefined {
    const asked = parseClusterName(this.#question.name, this.#zone)
    switch (asked.about) {
      case 'zone':
        return this.#ofZone()
      case 'name-server':
        return this.#addresses(this.#options.ownAddresses().map((address) => ({ name: '', address, ports: [] })))
      case 'version':
        return this.#positive(this.#asks('TXT') ? [this.#record({ type: 'TXT', texts: [VERSION] })] : [])
      case 'branch':
        if (asked.namespace !== undefined) this.#dependsOn?.push(asked.namespace)
        return asked.namespace === undefined || this.#options.objects.namespace(asked.namespace) ? EMPTY : undefined
      case 'service':
        return this.#ofService(asked)
      case 'pod':
        return this.#ofPod(asked)
      case 'unknown':
        return undefined
    }
  }

  reverse(): Reply | undefined {
    const address = addressOfReverseName(this.#question.name)
    if (address === undefined) return undefined
    const names = this.#namesOf(canonical(address))
    if (names.length === 0) return undefined
    const records = names.map((target) => this.#record({ type: 'PTR', target }))
    return this.#positive(this.#asks('PTR') ? records : [])
  }

  /** No such name, or nothing of that type: for how long that may be believed, says the zone's SOA. */
  negative(rcode: number): Reply {
    return { ...emptyReply(rcode, true), authority: [this.#soa()] }
  }

  #ofZone(): Reply {
    const target = `ns.dns.${this.#zone}`
    if (this.#asks('SOA')) return this.#positive([this.#soa()])
    if (!this.#asks('NS')) return EMPTY
    const additional = this.#options.ownAddresses().map((address): DnsRecord => {
      const type = address.includes(':') ? 'AAAA' : 'A'
      return { name: target, ttl: this.#options.ttl, data: { type, address } }
    })
    return { ...this.#positive([this.#record({ type: 'NS', target })]), additional }
  }

  #ofService(asked: Extract<ClusterName, { about: 'service' }>): Answer | undefined {
    const { objects } = this.#options
    this.#dependsOn?.push(asked.namespace, `${asked.namespace}/${asked.service}`)
    const service = objects.service(asked.namespace, asked.service)
    if (!service || !objects.namespace(asked.namespace)) return undefined
    if (service.spec?.type === 'ExternalName') return this.#ofExternalName(service, asked)
    const name = serviceName(service, this.#clusterZone())
    const targets = isHeadless(service)
      ? endpointTargets(objects.slices(asked.namespace, asked.service), name)
      : ownTargets(service, name)
    if (targets.length === 0) return undefined
    if (asked.port !== undefined) return this.#ofPort(targets, asked.port, asked.protocol!)
    if (asked.endpoint === undefined)
      return this.#asks('SRV') ? this.#srv(targets, () => true) : this.#addresses(targets)
    const own = targets.filter((target) => target.name === `${asked.endpoint}.${name}`)
    if (!isHeadless(service) || own.length === 0) return undefined
    return this.#asks('SRV') ? this.#srv(own, () => true) : this.#addresses(own)
  }

  #ofPort(targets: readonly Target[], port: string, protocol: string): Reply | undefined {
    const isWanted = (candidate: { readonly name: string; readonly protocol: string }) =>
      candidate.name === port && candidate.protocol.toLowerCase() === protocol
    if (!targets.some(({ ports }) => ports.some(isWanted))) return undefined
    return this.#asks('SRV') ? this.#srv(targets, isWanted) : EMPTY
  }

  /** An alias: the answer carries what it leads to as well, if that can be found out. */
  #ofExternalName(service: Service, asked: Extract<ClusterName, { about: 'service' }>): Answer | undefined {
    if (asked.port !== undefined || asked.endpoint !== undefined) return undefined
    const target = canonicalName(service.spec?.externalName ?? '')
    if (target === '') return undefined
    const alias = this.#record({ type: 'CNAME', target })
    const { type, name } = this.#question
    if (type === TYPES.CNAME || target === name) return this.#positive([alias])
    if (type !== TYPES.A && type !== TYPES.AAAA) return this.#positive([alias])
    const found = this.#request.resolve({ name: target, type, class: CLASS_IN })
    const withAlias = (reply: Reply) => {
      this.#dependsOn = reply.keep && this.#dependsOn?.concat(reply.keep.dependsOn)
      return this.#positive([alias, ...reply.answers])
    }
    return found instanceof Promise
      ? found.then(withAlias, () => withAlias(emptyReply(RCODES.SERVFAIL)))
      : withAlias(found)
  }

  #ofPod({ namespace, address: label }: Extract<ClusterName, { about: 'pod' }>): Reply | undefined {
    const { objects, pods } = this.#options
    const address = addressOfLabel(label)
    this.#dependsOn?.push(namespace)
    if (pods === 'disabled' || address === undefined || !objects.namespace(namespace)) return undefined
    if (pods === 'verified') {
      this.#dependsOn = undefined
      const found = objects.podsByAddress(address).some((pod) => pod.metadata.namespace === namespace)
      if (!found) return undefined
    }
    return this.#addresses([{ name: '', address: canonical(address), ports: [] }])
  }

  /** The Services that have the address, and the endpoints of headless ones by their host names. */
  #namesOf(address: string): string[] {
    const { objects } = this.#options
    const zone = this.#clusterZone()
    this.#dependsOn?.push(address)
    const services = objects.servicesByAddress(address).map((service) => serviceName(service, zone))
    if (services.length > 0) return services
    return objects.slicesByAddress(address).flatMap((slice) => {
      const { namespace = '', labels } = slice.metadata
      const name = labels?.[LABEL.serviceName] ?? ''
      this.#dependsOn?.push(`${namespace}/${name}`)
      const service = objects.service(namespace, name)
      if (!service || !isHeadless(service)) return []
      const own = (slice.endpoints ?? []).filter(
        (endpoint) => isPublished(endpoint) && endpoint.addresses.some((known) => canonical(known) === address),
      )
      return own.map((endpoint) => `${endpointLabel(endpoint, address)}.${serviceName(service, zone)}`)
    })
  }

  /** Reverse names lead into the first zone that is none itself. */
  #clusterZone(): string {
    if (!isReverse(this.#zone)) return this.#zone
    return canonicalName(this.#options.zones.find((zone) => !isReverse(canonicalName(zone))) ?? 'cluster.local')
  }

  #addresses(targets: readonly Target[]): Reply {
    const { name } = this.#question
    const types = (['A', 'AAAA'] as const).filter((type) => this.#asks(type))
    return this.#positive(types.flatMap((type) => addressRecords(name, targets, type, this.#options.ttl)))
  }

  #srv(targets: readonly Target[], isWanted: Parameters<typeof srvRecords>[2]): Reply {
    const records = srvRecords(this.#question.name, targets, isWanted, this.#options.ttl)
    return { ...this.#positive(records.answers), additional: records.additional }
  }

  #asks(type: keyof typeof TYPES): boolean {
    return this.#question.type === TYPES[type] || this.#question.type === TYPES.ANY
  }

  #record(data: DnsRecord['data']): DnsRecord {
    return { name: this.#question.name, ttl: this.#options.ttl, data }
  }

  #positive(answers: readonly DnsRecord[]): Reply {
    return { ...emptyReply(RCODES.NOERROR, true), answers }
  }

  #soa(): DnsRecord {
    const { ttl, serial } = this.#options
    const zone = this.#zone
    return {
      name: zone,
      ttl,
      data: {
        type: 'SOA',
        mname: `ns.dns.${zone}`,
        rname: `hostmaster.${zone}`,
        serial: serial(),
        refresh: 7200,
        retry: 1800,
        expire: 86_400,
        minimum: Math.min(ttl, MINIMUM_TTL),
      },
    }
  }
}

const EMPTY: Reply = emptyReply(RCODES.NOERROR, true)

const serviceName = ({ metadata }: Service, zone: string) => `${metadata.name}.${metadata.namespace}.svc.${zone}`
