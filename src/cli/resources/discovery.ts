import type { HttpTransport } from '../../client/http-transport.ts'
import type { ResourceType } from '../../client/transport.ts'
import { UserError } from '../../cluster/user-error.ts'

/** A resource as discovery tells of it. */
export interface DiscoveredResource extends ResourceType {
  readonly kind: string
  readonly singular: string
  readonly shortNames: readonly string[]
  readonly categories: readonly string[]
  readonly verbs: readonly string[]
}

interface GroupDiscoveryList {
  readonly items?: readonly {
    readonly metadata?: { readonly name?: string }
    readonly versions: readonly {
      readonly version: string
      readonly resources?: readonly {
        readonly resource: string
        readonly responseKind?: { readonly kind: string }
        readonly scope: string
        readonly singularResource: string
        readonly shortNames?: readonly string[]
        readonly categories?: readonly string[]
        readonly verbs: readonly string[]
      }[]
    }[]
  }[]
}

const ACCEPT = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json'

/** Everything the server has, each group's preferred version first. */
export async function discover(http: HttpTransport): Promise<DiscoveredResource[]> {
  const lists = await Promise.all(['/api', '/apis'].map((path) => http.raw({ path, accept: ACCEPT })))
  return lists.flatMap((text) => resourcesOf(JSON.parse(text) as GroupDiscoveryList))
}

function resourcesOf(list: GroupDiscoveryList): DiscoveredResource[] {
  return (list.items ?? []).flatMap((group) =>
    group.versions.flatMap(({ version, resources = [] }) =>
      resources.map((resource) => ({
        group: group.metadata?.name ?? '',
        version,
        plural: resource.resource,
        namespaced: resource.scope === 'Namespaced',
        kind: resource.responseKind?.kind ?? '',
        singular: resource.singularResource,
        shortNames: resource.shortNames ?? [],
        categories: resource.categories ?? [],
        verbs: resource.verbs,
      })),
    ),
  )
}

/**
 * What a user means by a word: `pods`, `pod`, `po`, `Pod`, `deployments.apps`, `deployments.v1.apps`, or a category
 * such as `all`, which stands for several.
 */
export function findResources(known: readonly DiscoveredResource[], word: string): DiscoveredResource[] {
  const [name = '', ...rest] = word.toLowerCase().split('.')
  const qualifier = rest.join('.')
  const inGroup = (resource: DiscoveredResource) =>
    qualifier === '' || qualifier === resource.group || qualifier === `${resource.version}.${resource.group}`
  const candidates = known.filter(inGroup)
  for (const matches of [
    (resource: DiscoveredResource) => resource.plural === name || resource.singular === name,
    (resource: DiscoveredResource) => resource.shortNames.includes(name),
    (resource: DiscoveredResource) => resource.kind.toLowerCase() === name,
  ]) {
    const found = candidates.find(matches)
    if (found) return [found]
  }
  const category = preferredOnly(known.filter((resource) => resource.categories.includes(word.toLowerCase())))
  if (category.length > 0) return category
  throw new UserError(`the server has no resource ${JSON.stringify(word)}`, nearest(known, name))
}

export function findKind(known: readonly DiscoveredResource[], group: string, version: string, kind: string) {
  const found = known.find((one) => one.group === group && one.version === version && one.kind === kind)
  if (found) return found
  throw new UserError(`the server has no kind ${kind} in version ${group === '' ? version : `${group}/${version}`}`)
}

/** A category lists each resource once, in its group's preferred version. */
function preferredOnly(resources: readonly DiscoveredResource[]): DiscoveredResource[] {
  const seen = new Set<string>()
  return resources.filter(({ group, plural }) => {
    const key = `${plural}.${group}`
    return !seen.has(key) && seen.add(key)
  })
}

function nearest(known: readonly DiscoveredResource[], word: string): string[] {
  const names = known.flatMap((resource) => [resource.plural, resource.singular])
  const close = names.filter((name) => distance(name, word) <= 2)
  return close.length > 0 ? [`Did you mean ${close[0]}?`] : []
}

/** Levenshtein's. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(replaced, row[j]! + 1, next[j - 1]! + 1))
    }
    row = next
  }
  return row[b.length]!
}
