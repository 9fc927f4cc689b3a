import type { Tags } from 'yaml'
import type { CustomResourceDefinition } from '../api/generated/apiextensions-v1.ts'
import { builtinKinds } from '../api/kinds/all.ts'
import { customResourceDefinitionKind } from '../api/kinds/apiextensions/custom-resource-definition/kind.ts'
import { type KubernetesObject, parseApiVersion } from '../api/meta/object.ts'
import type { Client } from '../client/client.ts'
import type { ResourceType } from '../client/transport.ts'

const FIELD_MANAGER = 'sampan-testing'

/** YAML of one or several documents, an object, or a list of any of these. */
export type Manifest = string | KubernetesObject | readonly Manifest[]

/** Applies manifests in their order, as `kubectl apply --server-side` does; what comes back is as it was stored. */
export async function applyManifest(
  client: Client,
  manifest: Manifest,
  namespace: string,
): Promise<KubernetesObject[]> {
  const applied: KubernetesObject[] = []
  for (const object of await objectsOf(manifest)) {
    const type = await resourceOf(client, object)
    const resource = client.resource(type)
    const target = type.namespaced ? resource.namespace(object.metadata.namespace ?? namespace) : resource
    applied.push(await target.apply(object, { fieldManager: FIELD_MANAGER, force: true }))
  }
  return applied
}

async function objectsOf(manifest: Manifest): Promise<KubernetesObject[]> {
  if (typeof manifest === 'string') return parse(manifest)
  if (Array.isArray(manifest)) return (await Promise.all(manifest.map(objectsOf))).flat()
  const object = manifest as KubernetesObject & { readonly items?: readonly KubernetesObject[] }
  if (object.kind === 'List' && object.items) return [...object.items]
  return [object]
}

async function parse(text: string): Promise<KubernetesObject[]> {
  const { parseAllDocuments } = await import('yaml')
  const objects: KubernetesObject[] = []
  for (const document of parseAllDocuments(text, { version: '1.1', customTags: plainTags })) {
    if (document.errors[0]) throw new Error(`the manifest is not valid YAML: ${document.errors[0].message}`)
    const value: unknown = document.toJS()
    if (value !== null && value !== undefined) objects.push(...(await objectsOf(value as KubernetesObject)))
  }
  return objects
}

/** As kubectl reads it: octal numbers as in 1.1, but times stay text. */
const plainTags = (tags: Tags): Tags =>
  tags.filter((tag) => typeof tag === 'string' || (tag.format !== 'TIME' && tag.tag !== 'tag:yaml.org,2002:timestamp'))

async function resourceOf(client: Client, { apiVersion = '', kind = '' }: KubernetesObject): Promise<ResourceType> {
  const { group, version } = parseApiVersion(apiVersion)
  const builtin = builtinKinds.find((one) => one.group === group && one.version === version && one.kind === kind)
  if (builtin) return builtin
  const { items } = await client.resource<CustomResourceDefinition>(customResourceDefinitionKind).list()
  const custom = items.find(({ spec }) => spec.group === group && spec.names.kind === kind)
  if (!custom?.spec.versions.some(({ name, served }) => served && name === version))
    throw new Error(`no matches for kind ${JSON.stringify(kind)} in version ${JSON.stringify(apiVersion)}`)
  return { group, version, plural: custom.spec.names.plural, namespaced: custom.spec.scope === 'Namespaced' }
}
