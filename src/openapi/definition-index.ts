import { builtinType, type Kind } from '../api/kind.ts'
import type { JsonObject } from '../api/meta/object.ts'
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
  /** Custom kinds by the names of their definitions, which are only made for those that a document is about. */
  readonly #custom = new Map<string, Kind>()
  readonly #authored = new Set<string>()
  readonly #described: (kind: Kind) => JsonObject | undefined
  readonly #common: CommonFields | undefined

  constructor(data: OpenApiData, kinds: Iterable<Kind>, described: (kind: Kind) => JsonObject | undefined) {
    this.#definitions = new Map(Object.entries(data.definitions))
    this.#described = described
    this.#common = commonFieldsOf(data)
    for (const kind of kinds) {
      const definition = builtinType(kind)
      if (definition === undefined) this.#addCustom(kind)
      else {
        const listDefinition = definition.slice(0, definition.lastIndexOf('.') + 1) + kind.listKind
        this.#byKind.set(keyOf(kind), definition)
        this.#byKind.set(listKeyOf(kind), listDefinition)
      }
    }
  }

  #addCustom(kind: Kind): void {
    const names = [customDefinitionName(kind, kind.kind), customDefinitionName(kind, kind.listKind)] as const
    for (const name of names) this.#custom.set(name, kind)
    this.#byKind.set(keyOf(kind), names[0])
    this.#byKind.set(listKeyOf(kind), names[1])
  }

  get(name: string): JsonObject | undefined {
    const kind = this.#custom.get(name)
    if (kind !== undefined) {
      const described = this.#described(kind)
      const made = customDefinitions(kind, described, this.#common)
      if (described !== undefined) this.#authored.add(customDefinitionName(kind, kind.kind))
      for (const [one, definition] of Object.entries(made)) {
        this.#custom.delete(one)
        this.#definitions.set(one, definition)
      }
    }
    return this.#definitions.get(name)
  }

  /** Whether all but the shared fields stands as the author of a custom kind wrote it: it refers to nothing. */
  isAuthored(name: string): boolean {
    return this.#authored.has(name)
  }

  /** The definition of a kind: a served one, or a built-in that only stands in bodies (Eviction, Scale). */
  ofKind(gvk: GroupVersionKind): string | undefined {
    const known = this.#byKind.get(keyOf(gvk))
    if (known !== undefined) return this.#definitions.has(known) || this.#custom.has(known) ? known : undefined
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
    this.addClosure(found, names)
    return new Map([...found].sort(([a], [b]) => (a < b ? -1 : 1)))
  }

  /** Adds those that are not there yet, with all they refer to; returns their names. */
  addClosure(found: Map<string, JsonObject>, names: Iterable<string>): readonly string[] {
    const added: string[] = []
    const visit = (name: string) => {
      const definition = found.has(name) ? undefined : this.get(name)
      if (definition === undefined) return
      found.set(name, definition)
      added.push(name)
      const used = new Set<string>()
      findReferences(this.isAuthored(name) ? sharedFields(definition) : definition, used)
      for (const one of used) visit(one)
    }
    for (const name of names) visit(name)
    return added
  }
}

/** How built-in kinds describe the fields that all objects have. */
function commonFieldsOf({ definitions }: OpenApiData): CommonFields | undefined {
  const { apiVersion, kind, metadata } = (definitions[CONFIG_MAP]?.properties ?? {}) as Record<string, JsonObject>
  const { metadata: listMetadata } = (definitions[ENDPOINTS_LIST]?.properties ?? {}) as Record<string, JsonObject>
  return apiVersion && kind && metadata && listMetadata && { apiVersion, kind, metadata, listMetadata }
}

const listKeyOf = ({ group, version, listKind }: Kind) => `${group}/${version}/${listKind}`
const keyOf = (gvk: GroupVersionKind) => `${gvk.group}/${gvk.version}/${gvk.kind}`

function findReferences(node: unknown, found: Set<string>): void {
  if (typeof node !== 'object' || node === null) return
  for (const [key, value] of Object.entries(node)) {
    if (key === '$ref' && typeof value === 'string') found.add(value.slice('#/definitions/'.length))
    else if (typeof value === 'object') findReferences(value, found)
  }
}

/** The fields that all objects have. */
export function sharedFields(definition: JsonObject): JsonObject {
  const { apiVersion, kind, metadata } = definition.properties as JsonObject
  return { apiVersion, kind, metadata }
}
