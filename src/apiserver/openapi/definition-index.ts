import type { Kind } from '../../api/kind.ts'
import type { JsonObject } from '../../api/meta/object.ts'
import { type CommonFields, customDefinitionName, customDefinitions } from './custom-definitions.ts'
import type { OpenApiData } from './openapi-data.ts'
import type { GroupVersionKind } from './operations.ts'

export const META = 'io.k8s.apimachinery.pkg.apis.meta.v1'
export const API_RESOURCE_LIST = `${META}.APIResourceList`
const CONFIG_MAP = 'io.k8s.api.core.v1.ConfigMap'
const ENDPOINTS_LIST = 'io.k8s.api.core.v1.EndpointsList'
export const STATUS = `${META}.Status`
export const PATCH = `${META}.Patch`
export const DELETE_OPTIONS = `${META}.DeleteOptions`

/** Definitions of built-in types and of the custom kinds that are served, found by name or by kind. */
export class DefinitionIndex {
  readonly #definitions: Map<string, JsonObject>
  readonly #byKind = new Map<string, string>()

  constructor(data: OpenApiData, kinds: Iterable<Kind>, described: (kind: Kind) => JsonObject | undefined) {
    this.#definitions = new Map(Object.entries(data.definitions))
    const common = commonFieldsOf(data)
    for (const kind of kinds) {
      const definition = kind.schema.definition
      if (definition === undefined) this.#addCustom(kind, described(kind), common)
      else {
        const listDefinition = definition.slice(0, definition.lastIndexOf('.') + 1) + kind.listKind
        this.#byKind.set(keyOf(kind), definition)
        this.#byKind.set(keyOf({ ...kind, kind: kind.listKind }), listDefinition)
      }
    }
  }

  #addCustom(kind: Kind, described: JsonObject | undefined, common: CommonFields | undefined): void {
    for (const [name, definition] of Object.entries(customDefinitions(kind, described, common))) {
      this.#definitions.set(name, definition)
    }
    this.#byKind.set(keyOf(kind), customDefinitionName(kind, kind.kind))
    this.#byKind.set(keyOf({ ...kind, kind: kind.listKind }), customDefinitionName(kind, kind.listKind))
  }

  get(name: string): JsonObject | undefined {
    return this.#definitions.get(name)
  }

  /** The definition of a kind: a served one, or a built-in that only stands in bodies (Eviction, Scale). */
  ofKind(gvk: GroupVersionKind): string | undefined {
    const known = this.#byKind.get(keyOf(gvk))
    if (known !== undefined) return this.#definitions.has(known) ? known : undefined
    for (const [name, definition] of this.#definitions) {
      const kinds = definition['x-kubernetes-group-version-kind'] as GroupVersionKind[] | undefined
      if (kinds?.length === 1 && keyOf(kinds[0]!) === keyOf(gvk)) {
        this.#byKind.set(keyOf(gvk), name)
        return name
      }
    }
    return undefined
  }

  /** The named definitions and all they refer to, sorted by name. */
  closure(names: Iterable<string>): Map<string, JsonObject> {
    const found = new Map<string, JsonObject>()
    const visit = (name: string) => {
      const definition = this.#definitions.get(name)
      if (definition === undefined || found.has(name)) return
      found.set(name, definition)
      for (const used of referencesIn(definition)) visit(used)
    }
    for (const name of names) visit(name)
    return new Map([...found].sort(([a], [b]) => (a < b ? -1 : 1)))
  }
}

/** How built-in kinds describe the fields that all objects have. */
function commonFieldsOf({ definitions }: OpenApiData): CommonFields | undefined {
  const { apiVersion, kind, metadata } = (definitions[CONFIG_MAP]?.properties ?? {}) as Record<string, JsonObject>
  const { metadata: listMetadata } = (definitions[ENDPOINTS_LIST]?.properties ?? {}) as Record<string, JsonObject>
  return apiVersion && kind && metadata && listMetadata && { apiVersion, kind, metadata, listMetadata }
}

const keyOf = (gvk: GroupVersionKind) => `${gvk.group}/${gvk.version}/${gvk.kind}`

function* referencesIn(node: unknown): Generator<string> {
  if (typeof node !== 'object' || node === null) return
  for (const [key, value] of Object.entries(node)) {
    if (key === '$ref' && typeof value === 'string') yield value.slice('#/definitions/'.length)
    else if (typeof value === 'object') yield* referencesIn(value)
  }
}
