import type { CustomResourceDefinition } from '../api/generated/apiextensions-v1.ts'
import { ALL_VERBS, type Kind, type Verb } from '../api/kind.ts'
import { builtinKinds } from '../api/kinds/all.ts'
import { customResourceDefinitionKind } from '../api/kinds/apiextensions/custom-resource-definition/kind.ts'
import { isConditionTrue } from '../api/meta/conditions.ts'
import { parseApiVersion } from '../api/meta/object.ts'
import type { Informer } from '../client/informer.ts'
import type { InformerFactory } from '../client/informer-factory.ts'
import type { ResourceType } from '../client/transport.ts'

/** A resource that the API serves now, in the one version that stands for all. */
export interface ServedType extends ResourceType {
  readonly kind: string
  readonly verbs: readonly Verb[]
}

/** What there is: the built-in kinds, and custom ones as their definitions come and go. */
export interface ServedTypes {
  readonly definitions: Informer<CustomResourceDefinition>
  list(): ServedType[]
  /** Any version of the group will do: objects are the same in all of them. */
  byKind(apiVersion: string, kind: string): ServedType | undefined
}

/** `pods`, `deployments.apps` */
export const resourceName = ({ group, plural }: ResourceType) => (group === '' ? plural : `${plural}.${group}`)

/** An object in several versions or groups is one object: only its stored version counts. */
const builtin: readonly ServedType[] = builtinKinds.filter((kind) => !kind.conversion).map(typeOf)
const builtinNames = new Set(builtinKinds.map((kind) => resourceName(kind)))
const builtinByKind = new Map(builtinKinds.map((kind) => [`${kind.group}/${kind.kind}`, typeOf(kind)]))

export function servedTypes(informers: InformerFactory): ServedTypes {
  const definitions = informers.informer(customResourceDefinitionKind, { indexes: INDEXES })
  return {
    definitions,
    list: () => [...builtin, ...definitions.list().flatMap((definition) => customType(definition) ?? [])],
    byKind(apiVersion, kind) {
      const id = `${parseApiVersion(apiVersion).group}/${kind}`
      return builtinByKind.get(id) ?? definitions.byIndex('kind', id).flatMap((one) => customType(one) ?? [])[0]
    },
  }
}

const INDEXES = {
  kind: ({ spec }: CustomResourceDefinition) => [`${spec.group}/${spec.names.kind}`],
}

/** Undefined while the definition is not served; one that would stand for a built-in resource never is. */
export function customType({ metadata, spec, status }: CustomResourceDefinition): ServedType | undefined {
  if (!isConditionTrue(status?.conditions, 'Established') || builtinNames.has(metadata.name ?? '')) return undefined
  const served = spec.versions.filter((version) => version.served)
  const version = served.find(({ storage }) => storage) ?? served[0]
  if (!version) return undefined
  const { kind, plural } = spec.names
  return {
    group: spec.group,
    version: version.name,
    plural,
    kind,
    namespaced: spec.scope === 'Namespaced',
    verbs: ALL_VERBS,
  }
}

function typeOf({ group, version, plural, namespaced, kind, verbs }: Kind): ServedType {
  return { group, version, plural, namespaced, kind, verbs }
}
