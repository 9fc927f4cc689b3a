import { npmArchive, readTarEntry } from './npm-archive.ts'

/** Definitions that other projects publish, with their schemas as packages of models carry them. */

export interface Published {
  readonly package: string
  readonly version: string
  /** `group/version/Kind` */
  readonly type: string
  readonly plural: string
  readonly scope?: 'Cluster' | 'Namespaced'
  /** A second version with the same schema, as projects have it while they move on. */
  readonly next?: string
}

const models = (name: string, version: string, plurals: Readonly<Record<string, string>>): Published[] =>
  Object.entries(plurals).map(([type, plural]) => ({
    package: `@kubernetes-models/${name}`,
    version,
    type,
    plural,
    ...(plural === 'clusterissuers' && { scope: 'Cluster' as const }),
    ...(plural === 'applicationsets' && { next: 'v1alpha2' }),
  }))

export const PROJECTS: Readonly<Record<string, readonly Published[]>> = {
  'prometheus-operator': models('prometheus-operator', '1.0.0', {
    'monitoring.coreos.com/v1/Prometheus': 'prometheuses',
    'monitoring.coreos.com/v1/ServiceMonitor': 'servicemonitors',
    'monitoring.coreos.com/v1/PrometheusRule': 'prometheusrules',
  }),
  'cert-manager': models('cert-manager', '4.3.1', {
    'cert-manager.io/v1/Certificate': 'certificates',
    'cert-manager.io/v1/ClusterIssuer': 'clusterissuers',
  }),
  'argo-cd': models('argo-cd', '2.3.1', {
    'argoproj.io/v1alpha1/Application': 'applications',
    'argoproj.io/v1alpha1/ApplicationSet': 'applicationsets',
  }),
}

interface SchemaText {
  required?: string[]
  properties: Record<string, { type: string; enum?: string[] }>
}

interface Node {
  oneOf?: Node[]
  anyOf?: Node[]
  type?: string
  properties?: Record<string, Node>
  items?: Node
  additionalProperties?: Node
}

/** The package knows no extensions: it writes a choice with null, no schema at all, and a choice of types instead. */
function restored(node: Node): object {
  const { oneOf, ...rest } = node
  if (oneOf?.length === 2 && oneOf[1]!.type === 'null') return { ...restored({ ...rest, ...oneOf[0] }), nullable: true }
  if (Object.keys(node).length === 0) return { 'x-kubernetes-preserve-unknown-fields': true }
  const properties = Object.entries(node.properties ?? {}).map(([name, field]) => [name, restored(field)])
  const isIntOrString = node.type === undefined && node.anyOf?.map(({ type }) => type).join() === 'integer,string'
  return {
    ...node,
    ...(isIntOrString && { 'x-kubernetes-int-or-string': true }),
    ...(node.properties && { properties: Object.fromEntries(properties) }),
    ...(node.items && { items: restored(node.items) }),
    ...(typeof node.additionalProperties === 'object' && { additionalProperties: restored(node.additionalProperties) }),
  }
}

/** The whole definition; what the package adds to the schema of the type's name and metadata is taken out again. */
export async function publishedDefinition(source: Published) {
  const [group, version, kind] = source.type.split('/') as [string, string, string]
  const text = readTarEntry(await npmArchive(source.package, source.version), `package/${source.type}.js`).toString()
  const [, literal] = /^const schema = (\{$[\s\S]*?^\});$/m.exec(text) ?? []
  if (literal === undefined) throw new Error(`no schema in ${source.type}.js of ${source.package}`)
  const schema = restored(JSON.parse(literal) as Node) as SchemaText
  schema.properties.metadata = { type: 'object' }
  for (const field of ['apiVersion', 'kind']) delete schema.properties[field]?.enum
  const required = schema.required?.filter((field) => field !== 'apiVersion' && field !== 'kind') ?? []
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${source.plural}.${group}` },
    spec: {
      group,
      scope: source.scope ?? 'Namespaced',
      names: { plural: source.plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List` },
      versions: [version, ...(source.next ? [source.next] : [])].map((name) => ({
        name,
        served: true,
        storage: name === version,
        subresources: { status: {} },
        schema: { openAPIV3Schema: { ...schema, required } },
      })),
    },
  }
}
