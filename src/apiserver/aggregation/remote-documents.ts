import type { JsonObject } from '../../api/meta/object.ts'
import { AGGREGATOR } from './availability.ts'
import type { RemoteAnswer } from './remote-client.ts'
import type { ApiResource, RemoteService } from './remote-service.ts'

const TIMEOUT_MS = 15_000
const HEADERS = { ...AGGREGATOR, accept: 'application/json' }

/** The resources that a server told of; what is no such list counts as none. */
export function readResources({ text }: RemoteAnswer): ApiResource[] {
  const { resources } = JSON.parse(text) as { resources?: unknown }
  if (!Array.isArray(resources)) return []
  return resources.filter((one): one is ApiResource => typeof one?.name === 'string' && typeof one?.kind === 'string')
}

/** Where the OpenAPI v3 document of a group version is, with its hash. */
export async function fetchV3Location({ client, group, version }: RemoteService): Promise<string | undefined> {
  const { status, text } = await client.get('/openapi/v3', HEADERS, TIMEOUT_MS)
  if (status !== 200) return undefined
  const { paths } = JSON.parse(text) as { paths?: Record<string, { serverRelativeURL?: string } | undefined> }
  const url = paths?.[`apis/${group}/${version}`]?.serverRelativeURL
  // Only what leads to the document itself is passed on to clients.
  return url?.startsWith(`/openapi/v3/apis/${group}/${version}`) ? url : undefined
}

export async function fetchV2({ client, openApiV2 }: RemoteService): Promise<RemoteService['openApiV2']> {
  const known: Record<string, string> = openApiV2?.etag ? { 'if-none-match': openApiV2.etag } : {}
  const { status, etag, text } = await client.get('/openapi/v2', { ...HEADERS, ...known }, TIMEOUT_MS)
  if (status === 304) return openApiV2
  if (status !== 200) return undefined
  return { etag: etag || text, document: JSON.parse(text) as JsonObject }
}

/** The paths of a group, and the definitions that the document has and another does not. */
export function mergeV2(document: JsonObject, remotes: Iterable<RemoteService>): JsonObject {
  const paths = { ...(document.paths as JsonObject) }
  const definitions = { ...(document.definitions as JsonObject) }
  for (const { group, version, openApiV2 } of remotes) {
    if (!openApiV2) continue
    for (const [path, item] of Object.entries((openApiV2.document.paths ?? {}) as JsonObject))
      if (path === `/apis/${group}/` || path.startsWith(`/apis/${group}/${version}/`)) paths[path] ??= item
    for (const [name, one] of Object.entries((openApiV2.document.definitions ?? {}) as JsonObject))
      definitions[name] ??= one
  }
  return { ...document, paths, definitions }
}

/** The resources of a list in the aggregated form: subresources inside of what they belong to. */
export function aggregatedResources({ group, version, resources }: RemoteService): object[] {
  const subresources = resources.filter(({ name }) => name.includes('/'))
  const kindOf = (one: ApiResource) => ({ group: one.group || group, version: one.version || version, kind: one.kind })
  return resources
    .filter(({ name }) => !name.includes('/'))
    .map((one) => {
      const own = subresources
        .filter(({ name }) => name.startsWith(`${one.name}/`))
        .map((sub) => ({
          subresource: sub.name.slice(one.name.length + 1),
          responseKind: kindOf(sub),
          verbs: sub.verbs ?? [],
        }))
      return {
        resource: one.name,
        responseKind: kindOf(one),
        scope: one.namespaced ? 'Namespaced' : 'Cluster',
        singularResource: one.singularName ?? '',
        verbs: one.verbs ?? [],
        ...(one.shortNames?.length && { shortNames: one.shortNames }),
        ...(one.categories?.length && { categories: one.categories }),
        ...(own.length > 0 && { subresources: own }),
      }
    })
}
