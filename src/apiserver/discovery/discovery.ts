import { createHash } from 'node:crypto'
import type { Kind } from '../../api/kind.ts'
import { apiVersionOf } from '../../api/meta/object.ts'
import {
  type Group,
  type GroupVersion,
  groupsOf,
  type LocalPriorities,
  type RemoteGroupVersion,
  withRemoteGroups,
} from './group-order.ts'
import { aggregatedResource, apiResources, type GroupVersionKind } from './resources.ts'

/** An answer ready to be sent. The same question gets the same bytes until a kind comes or goes. */
export interface DiscoveryDocument {
  readonly contentType: string
  /** Quoted, as it stands in the header. */
  readonly etag: string
  readonly body: Buffer
}

/** `plain` is APIVersions or APIGroupList; the others hold every resource of every group in one answer. */
export type DiscoveryForm = 'plain' | 'v2' | 'v2beta1'

/** What other servers serve. */
export interface RemoteGroups {
  versions(): readonly RemoteGroupVersion[]
  readonly priorities: LocalPriorities
}

/** Tells clients which resources exist. `invalidate` after kinds came or went. */
export class Discovery {
  readonly #kinds: () => Iterable<Kind>
  readonly #serverAddress: string
  readonly #remote: RemoteGroups | undefined
  readonly #documents = new Map<string, DiscoveryDocument>()
  #groups: readonly Group[] | undefined

  /** `serverAddress` is where clients outside of the cluster reach this server: `host:port`. */
  constructor(kinds: () => Iterable<Kind>, serverAddress: string, remote?: RemoteGroups) {
    this.#kinds = kinds
    this.#serverAddress = serverAddress
    this.#remote = remote
  }

  invalidate(): void {
    this.#documents.clear()
    this.#groups = undefined
  }

  /** `/api` */
  legacy(form: DiscoveryForm): DiscoveryDocument {
    return this.#document(`/api ${form}`, form, () => {
      const core = this.#allGroups().filter((group) => group.name === '')
      return form === 'plain' ? this.#apiVersions(core) : aggregatedList(form, core)
    })
  }

  /** `/apis` */
  groups(form: DiscoveryForm): DiscoveryDocument {
    return this.#document(`/apis ${form}`, form, () => {
      const named = this.#namedGroups()
      if (form !== 'plain') return aggregatedList(form, named)
      return { kind: 'APIGroupList', apiVersion: 'v1', groups: named.map(apiGroup) }
    })
  }

  /** `/apis/G`, or undefined if there is no such group. */
  group(name: string): DiscoveryDocument | undefined {
    const group = this.#namedGroups().find((one) => one.name === name)
    if (group === undefined) return undefined
    return this.#document(`/apis/${name}`, 'plain', () => ({ kind: 'APIGroup', apiVersion: 'v1', ...apiGroup(group) }))
  }

  /** `/api/v1` for the core group, `/apis/G/V` for others, or undefined if that version is not served. */
  resources(group: string, version: string): DiscoveryDocument | undefined {
    const groupVersion = this.#allGroups()
      .find((one) => one.name === group)
      ?.versions.find((one) => one.version === version)
    if (groupVersion === undefined) return undefined
    return this.#document(`${group}/${version}`, 'plain', () => ({
      kind: 'APIResourceList',
      // The legacy API came without it, and its clients compare.
      ...(group !== '' && { apiVersion: 'v1' }),
      groupVersion: apiVersionOf(groupVersion),
      resources: apiResources(groupVersion, (kind) => this.#storageKindOf(kind)),
    }))
  }

  #document(key: string, form: DiscoveryForm, render: () => object): DiscoveryDocument {
    const known = this.#documents.get(key)
    if (known !== undefined) return known
    const body = Buffer.from(`${JSON.stringify(render())}\n`)
    const etag = `"${createHash('sha512').update(body).digest('hex').toUpperCase()}"`
    const document = { contentType: CONTENT_TYPES[form], etag, body }
    this.#documents.set(key, document)
    return document
  }

  #allGroups(): readonly Group[] {
    this.#groups ??= this.#remote
      ? withRemoteGroups(groupsOf(this.#kinds()), this.#remote.versions(), this.#remote.priorities)
      : groupsOf(this.#kinds())
    return this.#groups
  }

  #namedGroups(): readonly Group[] {
    return this.#allGroups().filter((group) => group.name !== '')
  }

  #apiVersions(core: readonly Group[]): object {
    return {
      kind: 'APIVersions',
      versions: core.flatMap((group) => group.versions.map((gv) => gv.version)),
      serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress: this.#serverAddress }],
    }
  }

  /** The kind that objects are stored as; undefined for what is never stored (reviews, bindings). */
  #storageKindOf(kind: Kind): GroupVersionKind | undefined {
    if (!kind.verbs.includes('list')) return undefined
    const storage = kind.conversion?.storage
    if (storage === undefined) return kind
    const group = this.#allGroups().find((one) => one.name === storage.group)
    const kinds = group?.versions.find((one) => one.version === storage.version)?.kinds
    return kinds?.find((one) => one.plural === storage.plural) ?? kind
  }
}

const CONTENT_TYPES: Readonly<Record<DiscoveryForm, string>> = {
  plain: 'application/json',
  v2: 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList',
  v2beta1: 'application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList',
}

function apiGroup(group: Group): object {
  const versions = group.versions.map((gv) => ({ groupVersion: apiVersionOf(gv), version: gv.version }))
  return { name: group.name, versions, preferredVersion: versions[0] }
}

function aggregatedList(form: 'v2' | 'v2beta1', groups: readonly Group[]): object {
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: `apidiscovery.k8s.io/${form}`,
    metadata: {},
    items: groups.map((group) => ({
      metadata: { ...(group.name !== '' && { name: group.name }), creationTimestamp: null },
      versions: group.versions.map(aggregatedVersion),
    })),
  }
}

const aggregatedVersion = (gv: GroupVersion): object => ({
  version: gv.version,
  resources: gv.remote ? gv.remote.resources : gv.kinds.map(aggregatedResource),
  freshness: gv.remote?.isCurrent === false ? 'Stale' : 'Current',
})
