import { createHash } from 'node:crypto'
import type { Kind, Subresource, Verb } from '../../api/kind.ts'
import { compareText, type GroupVersion } from './group-order.ts'

export interface GroupVersionKind {
  readonly group: string
  readonly version: string
  readonly kind: string
}

/** One subresource as discovery shows it. */
export interface SubresourceEntry {
  readonly name: string
  readonly response: GroupVersionKind
  readonly verbs: readonly Verb[]
}

const SCALE: GroupVersionKind = { group: 'autoscaling', version: 'v1', kind: 'Scale' }
const EDIT_VERBS: readonly Verb[] = ['get', 'patch', 'update']

export function subresourcesOf(kind: Kind): SubresourceEntry[] {
  return Object.entries(kind.subresources)
    .map(([name, subresource]) => entryOf(kind, name, subresource))
    .sort((a, b) => compareText(a.name, b.name))
}

function entryOf(kind: Kind, name: string, subresource: Subresource): SubresourceEntry {
  switch (subresource.type) {
    case 'scale':
      return { name, response: SCALE, verbs: EDIT_VERBS }
    case 'part':
      return { name, response: kind, verbs: sortedVerbs(subresource.verbs) }
    case 'action':
      return { name, response: subresource, verbs: sortedVerbs(subresource.verbs) }
  }
}

export const sortedVerbs = (verbs: readonly Verb[]): Verb[] => verbs.toSorted(compareText)

/** The `resources` of an APIResourceList: each resource followed by its subresources. */
export function apiResources(gv: GroupVersion, storageKindOf: (kind: Kind) => GroupVersionKind | undefined): object[] {
  return gv.kinds.flatMap((kind) => [
    apiResource(kind, storageKindOf(kind)),
    ...subresourcesOf(kind).map((entry) => apiSubresource(kind, entry)),
  ])
}

function apiResource(kind: Kind, storage: GroupVersionKind | undefined): object {
  return {
    name: kind.plural,
    singularName: kind.singular,
    namespaced: kind.namespaced,
    kind: kind.kind,
    verbs: sortedVerbs(kind.verbs),
    ...(kind.shortNames.length > 0 && { shortNames: kind.shortNames }),
    ...(kind.categories.length > 0 && { categories: kind.categories }),
    ...(storage && { storageVersionHash: storageVersionHash(storage) }),
  }
}

/** Group and version are told only where they differ from those of the list. */
function apiSubresource(kind: Kind, { name, response, verbs }: SubresourceEntry): object {
  const isForeign = response.group !== kind.group || response.version !== kind.version
  return {
    name: `${kind.plural}/${name}`,
    singularName: '',
    namespaced: kind.namespaced,
    ...(isForeign && { group: response.group, version: response.version }),
    kind: response.kind,
    verbs,
  }
}

/** Opaque to clients; changes when the stored version does. */
export function storageVersionHash(gvk: GroupVersionKind): string {
  const digest = createHash('sha256').update(`${gvk.group}/${gvk.version}/${gvk.kind}`).digest()
  return digest.subarray(0, 8).toString('base64')
}

/** A resource of the aggregated form, with its subresources inside. */
export function aggregatedResource(kind: Kind): object {
  const subresources = subresourcesOf(kind).map(({ name, response, verbs }) => ({
    subresource: name,
    responseKind: gvkOf(response),
    verbs,
  }))
  return {
    resource: kind.plural,
    responseKind: gvkOf(kind),
    scope: kind.namespaced ? 'Namespaced' : 'Cluster',
    singularResource: kind.singular,
    verbs: sortedVerbs(kind.verbs),
    ...(kind.shortNames.length > 0 && { shortNames: kind.shortNames }),
    ...(kind.categories.length > 0 && { categories: kind.categories }),
    ...(subresources.length > 0 && { subresources }),
  }
}

const gvkOf = ({ group, version, kind }: GroupVersionKind): GroupVersionKind => ({ group, version, kind })
