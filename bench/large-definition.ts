import type {
  CustomResourceDefinition,
  CustomResourceDefinitionSpec,
  JSONSchemaProps,
} from '../src/api/generated/apiextensions-v1.ts'
import type { Json, JsonObject } from '../src/api/meta/object.ts'
import { openApiData } from '../src/openapi/openapi-data.ts'

/** What real generators write for a quantity. */
const QUANTITY = {
  anyOf: [{ type: 'integer' }, { type: 'string' }],
  pattern:
    '^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$',
  'x-kubernetes-int-or-string': true,
}
const INT_OR_STRING = { anyOf: [{ type: 'integer' }, { type: 'string' }], 'x-kubernetes-int-or-string': true }
const SPECIAL: Readonly<Record<string, JsonObject>> = {
  'io.k8s.apimachinery.pkg.api.resource.Quantity': QUANTITY,
  'io.k8s.apimachinery.pkg.util.intstr.IntOrString': INT_OR_STRING,
}
const DROPPED = new Set([
  'x-kubernetes-group-version-kind',
  'x-kubernetes-patch-merge-key',
  'x-kubernetes-patch-strategy',
])

/** The schema of a built-in type written out, as a controller's author has it in a definition. */
async function expanded(definition: string): Promise<JSONSchemaProps> {
  const { definitions } = await openApiData()
  const expand = (node: Json): Json => {
    if (Array.isArray(node)) return node.map(expand)
    if (typeof node !== 'object' || node === null) return node
    const { $ref, ...rest } = node
    if (typeof $ref === 'string') {
      const target = $ref.slice('#/definitions/'.length)
      return { ...(SPECIAL[target] ?? (expand(definitions[target]!) as JsonObject)), ...rest }
    }
    const entries = Object.entries(node).filter(([key]) => !DROPPED.has(key))
    return withKeyDefaults(Object.fromEntries(entries.map(([key, value]) => [key, expand(value!)])) as JSONSchemaProps)
  }
  return expand(definitions[definition]!) as JSONSchemaProps
}

/** The keys of a list of type map must be there or have a default. */
function withKeyDefaults(props: JSONSchemaProps): Json {
  const items = props.items as JSONSchemaProps | undefined
  for (const key of props['x-kubernetes-list-map-keys'] ?? []) {
    const field = items?.properties?.[key]
    if (field && !items.required?.includes(key)) field.default ??= key === 'protocol' ? 'TCP' : ''
  }
  return props as unknown as Json
}

const CONDITION: JSONSchemaProps = {
  type: 'object',
  required: ['type', 'status', 'lastTransitionTime', 'reason', 'message'],
  properties: {
    type: { type: 'string', maxLength: 316, pattern: '^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$' },
    status: { type: 'string', enum: ['True', 'False', 'Unknown'] },
    observedGeneration: { type: 'integer', format: 'int64', minimum: 0 },
    lastTransitionTime: { type: 'string', format: 'date-time' },
    reason: { type: 'string', minLength: 1, maxLength: 1024 },
    message: { type: 'string', maxLength: 32_768 },
  },
}

/** A definition of the size and kind that operators bring: a pod template among settings of its own, described. */
export async function largeDefinition(plural: string, group: string): Promise<CustomResourceDefinition> {
  const template = await expanded('io.k8s.api.core.v1.PodTemplateSpec')
  template.properties = {
    ...template.properties,
    metadata: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
  }
  const container = await expanded('io.k8s.api.core.v1.Container')
  const claim = await expanded('io.k8s.api.core.v1.PersistentVolumeClaimSpec')
  const properties: Record<string, JSONSchemaProps> = {
    replicas: { type: 'integer', format: 'int32', minimum: 0, default: 1 },
    mode: { type: 'string', enum: ['Active', 'Standby'], default: 'Active' },
    schedule: { type: 'string', maxLength: 64, pattern: '^[-0-9*/, ]+$' },
    template,
    sidecars: { type: 'array', items: container },
    migrations: { type: 'array', items: container },
    checks: { type: 'array', items: container },
    storage: { type: 'object', properties: { claim, retention: { type: 'string', format: 'duration' } } },
  }
  const status = {
    conditions: {
      type: 'array',
      items: CONDITION,
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['type'],
    },
  }
  const schema: JSONSchemaProps = {
    type: 'object',
    properties: {
      spec: { type: 'object', required: ['template'], properties },
      status: { type: 'object', properties: status },
    },
  }
  const versions = [
    { name: 'v1', served: true, storage: true, subresources: { status: {} }, schema: { openAPIV3Schema: schema } },
  ]
  return definition(plural, group, versions)
}

/** What most definitions are: a few fields, described. */
export function smallDefinition(plural: string, group: string): CustomResourceDefinition {
  const field = (i: number): [string, JSONSchemaProps] => [
    `field${i}`,
    { type: 'string', description: `field${i} is what this thing uses in its place number ${i}.`, maxLength: 100 + i },
  ]
  const spec = { type: 'object', properties: Object.fromEntries(Array.from({ length: 25 }, (_, i) => field(i))) }
  const status = { type: 'object', properties: { conditions: { type: 'array', items: CONDITION } } }
  const schema = { openAPIV3Schema: { type: 'object', properties: { spec, status } } }
  return definition(plural, group, [{ name: 'v1', served: true, storage: true, subresources: { status: {} }, schema }])
}

function definition(
  plural: string,
  group: string,
  versions: CustomResourceDefinitionSpec['versions'],
): CustomResourceDefinition {
  const kind = plural.charAt(0).toUpperCase() + plural.slice(1, -1)
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural, singular: plural.slice(0, -1), kind, listKind: `${kind}List` },
      versions,
    },
  } as CustomResourceDefinition
}

/** An object of the large definition as somebody would write it. */
export function largeObject(name: string, apiVersion: string, kind: string): JsonObject {
  const variable = (i: number) => ({ name: `SETTING_${i}`, value: `the value of setting number ${i}` })
  const container = (i: number): JsonObject => ({
    name: `container-${i}`,
    image: `registry.example.com/team/service-${i}:1.2.${i}`,
    imagePullPolicy: 'IfNotPresent',
    args: ['--listen=:8080', `--shard=${i}`, '--log-format=json', '--log-level=info'],
    env: [
      ...Array.from({ length: 8 }, (_, j) => variable(j)),
      { name: 'POD_IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
    ],
    ports: [
      { name: 'http', containerPort: 8080, protocol: 'TCP' },
      { name: 'metrics', containerPort: 9090, protocol: 'TCP' },
    ],
    resources: { limits: { cpu: '500m', memory: '512Mi' }, requests: { cpu: '100m', memory: '128Mi' } },
    livenessProbe: { httpGet: { path: '/healthz', port: 'http' }, initialDelaySeconds: 5, periodSeconds: 10 },
    readinessProbe: { httpGet: { path: '/ready', port: 8080 }, timeoutSeconds: 3 },
    volumeMounts: [
      { name: 'data', mountPath: '/var/lib/service' },
      { name: 'config', mountPath: '/etc/service', readOnly: true },
    ],
    securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] }, runAsNonRoot: true },
  })
  const spec: JsonObject = {
    serviceAccountName: 'service',
    containers: [container(0), container(1)],
    initContainers: [container(2)],
    volumes: [
      { name: 'data', persistentVolumeClaim: { claimName: 'data' } },
      { name: 'config', configMap: { name: 'service', items: [{ key: 'config.yaml', path: 'config.yaml' }] } },
    ],
    affinity: {
      podAntiAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [
          {
            weight: 100,
            podAffinityTerm: {
              topologyKey: 'kubernetes.io/hostname',
              labelSelector: { matchLabels: { app: 'service' } },
            },
          },
        ],
      },
    },
    tolerations: [{ key: 'dedicated', operator: 'Equal', value: 'service', effect: 'NoSchedule' }],
    topologySpreadConstraints: [
      {
        maxSkew: 1,
        topologyKey: 'topology.kubernetes.io/zone',
        whenUnsatisfiable: 'ScheduleAnyway',
        labelSelector: { matchLabels: { app: 'service' } },
      },
    ],
  }
  return {
    apiVersion,
    kind,
    metadata: { name, namespace: 'default', labels: { app: 'service', team: 'platform' } },
    spec: {
      replicas: 3,
      mode: 'Active',
      schedule: '*/5 * * * *',
      template: { metadata: { labels: { app: 'service' } }, spec },
      storage: {
        retention: '72h',
        claim: {
          accessModes: ['ReadWriteOnce'],
          resources: { requests: { storage: '20Gi' } },
          storageClassName: 'fast',
        },
      },
    },
  }
}
