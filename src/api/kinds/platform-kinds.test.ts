import { describe, expect, it } from 'vitest'
import { type Random, seededRandom } from '../../base/random.ts'
import type { Kind } from '../kind.ts'
import { apiVersionOf, type KubernetesObject } from '../meta/object.ts'
import type { Schema } from '../schema/schema.ts'
import { platformKinds } from './platform-kinds.ts'

const API_RESOURCES = `
apiservices  apiregistration.k8s.io/v1 false APIService
certificatesigningrequests csr certificates.k8s.io/v1 false CertificateSigningRequest
clusterrolebindings  rbac.authorization.k8s.io/v1 false ClusterRoleBinding
clusterroles  rbac.authorization.k8s.io/v1 false ClusterRole
componentstatuses cs v1 false ComponentStatus
configmaps cm v1 true ConfigMap
csidrivers  storage.k8s.io/v1 false CSIDriver
csinodes  storage.k8s.io/v1 false CSINode
csistoragecapacities  storage.k8s.io/v1 true CSIStorageCapacity
customresourcedefinitions crd,crds apiextensions.k8s.io/v1 false CustomResourceDefinition
deviceclasses  resource.k8s.io/v1 false DeviceClass
events ev events.k8s.io/v1 true Event
events ev v1 true Event
flowschemas  flowcontrol.apiserver.k8s.io/v1 false FlowSchema
leases  coordination.k8s.io/v1 true Lease
limitranges limits v1 true LimitRange
localsubjectaccessreviews  authorization.k8s.io/v1 true LocalSubjectAccessReview
mutatingadmissionpolicies  admissionregistration.k8s.io/v1 false MutatingAdmissionPolicy
mutatingadmissionpolicybindings  admissionregistration.k8s.io/v1 false MutatingAdmissionPolicyBinding
mutatingwebhookconfigurations  admissionregistration.k8s.io/v1 false MutatingWebhookConfiguration
namespaces ns v1 false Namespace
nodes no v1 false Node
persistentvolumeclaims pvc v1 true PersistentVolumeClaim
persistentvolumes pv v1 false PersistentVolume
priorityclasses pc scheduling.k8s.io/v1 false PriorityClass
prioritylevelconfigurations  flowcontrol.apiserver.k8s.io/v1 false PriorityLevelConfiguration
resourceclaims  resource.k8s.io/v1 true ResourceClaim
resourceclaimtemplates  resource.k8s.io/v1 true ResourceClaimTemplate
resourcequotas quota v1 true ResourceQuota
resourceslices  resource.k8s.io/v1 false ResourceSlice
rolebindings  rbac.authorization.k8s.io/v1 true RoleBinding
roles  rbac.authorization.k8s.io/v1 true Role
runtimeclasses  node.k8s.io/v1 false RuntimeClass
secrets  v1 true Secret
selfsubjectaccessreviews  authorization.k8s.io/v1 false SelfSubjectAccessReview
selfsubjectreviews  authentication.k8s.io/v1 false SelfSubjectReview
selfsubjectrulesreviews  authorization.k8s.io/v1 false SelfSubjectRulesReview
serviceaccounts sa v1 true ServiceAccount
storageclasses sc storage.k8s.io/v1 false StorageClass
subjectaccessreviews  authorization.k8s.io/v1 false SubjectAccessReview
tokenreviews  authentication.k8s.io/v1 false TokenReview
validatingadmissionpolicies  admissionregistration.k8s.io/v1 false ValidatingAdmissionPolicy
validatingadmissionpolicybindings  admissionregistration.k8s.io/v1 false ValidatingAdmissionPolicyBinding
validatingwebhookconfigurations  admissionregistration.k8s.io/v1 false ValidatingWebhookConfiguration
volumeattachments  storage.k8s.io/v1 false VolumeAttachment
volumeattributesclasses vac storage.k8s.io/v1 false VolumeAttributesClass
`
const SUBRESOURCES = `
apiservices/status get,patch,update
certificatesigningrequests/approval get,patch,update
certificatesigningrequests/status get,patch,update
customresourcedefinitions/status get,patch,update
flowschemas/status get,patch,update
namespaces/finalize update
namespaces/status get,patch,update
nodes/proxy create,delete,get,patch,update
nodes/status get,patch,update
persistentvolumeclaims/status get,patch,update
persistentvolumes/status get,patch,update
prioritylevelconfigurations/status get,patch,update
resourceclaims/status get,patch,update
resourcequotas/status get,patch,update
serviceaccounts/token create
validatingadmissionpolicies/status get,patch,update
volumeattachments/status get,patch,update
`

const NOW = Date.UTC(2026, 0, 2, 3, 4, 5)
const WORDS = [
  '',
  'a',
  'A/b',
  'example.com/x',
  '*',
  '*/*',
  'Exists',
  'In',
  'True',
  '1Gi',
  '-1',
  '..',
  'kubernetes',
  'Bound',
]

const pick = <T>(random: Random, values: readonly T[]): T => values[Math.floor(random.next() * values.length)]!

/** Some value of the right shape; about half of all fields are left out. */
function shaped(schema: Schema, random: Random, depth: number): unknown {
  if (schema.intOrString) return random.next() < 0.5 ? 3 : '25%'
  if (schema.enum && random.next() < 0.7) return pick(random, schema.enum)
  switch (schema.type) {
    case 'string':
      if (schema.format === 'date-time') return '2026-01-02T03:04:05Z'
      return schema.format === 'byte' ? pick(random, ['', 'YWJj', '%%%']) : pick(random, WORDS)
    case 'integer':
    case 'number':
      return pick(random, [0, 1, -1, 700, 2 ** 31 - 1])
    case 'boolean':
      return random.next() < 0.5
    case 'array':
      return Array.from({ length: depth > 7 ? 0 : Math.floor(random.next() * 3) }, () =>
        shaped(schema.items ?? {}, random, depth + 1),
      )
    default:
      return shapedObject(schema, random, depth)
  }
}

function shapedObject(schema: Schema, random: Random, depth: number): unknown {
  const object: Record<string, unknown> = {}
  if (depth > 7) return object
  for (const [name, field] of Object.entries(schema.properties ?? {}))
    if (random.next() < (depth < 2 ? 0.8 : 0.5)) object[name] = shaped(field, random, depth + 1)
  if (schema.additionalProperties && random.next() < 0.6)
    object[pick(random, WORDS)] = shaped(schema.additionalProperties, random, depth + 1)
  return object
}

function someObject(kind: Kind, random: Random): KubernetesObject {
  const object = shaped(kind.schema, random, 0) as KubernetesObject
  object.metadata = {
    name: pick(random, ['a', 'system-x', 'exempt', 'v1.']),
    namespace: 'default',
    resourceVersion: '1',
  }
  if (random.next() < 0.3) object.metadata.annotations = { 'volume.beta.kubernetes.io/storage-class': 'x' }
  if (random.next() < 0.3) object.metadata.deletionTimestamp = '2026-01-02T03:04:05Z'
  return object
}

/** Every hook and every column, as the registry calls them. */
function runHooks(kind: Kind, draft: KubernetesObject, old: KubernetesObject): void {
  for (const object of [draft, old]) {
    kind.conversion?.toStorage(object)
    kind.conversion?.fromStorage(object)
    kind.defaults?.(object)
  }
  kind.prepareCreate?.(structuredClone(draft))
  kind.prepareUpdate?.(draft, old)
  kind.validate?.(draft)
  kind.validateUpdate?.(draft, old)
  kind.warnings?.(draft, old)
  for (const door of Object.values(kind.subresources)) {
    if (door.type !== 'part') continue
    const next = structuredClone(draft)
    door.prepareUpdate(next, old)
    door.validateUpdate?.(next, old)
  }
  for (const column of kind.columns) column.value(draft, NOW)
  for (const read of Object.values(kind.selectableFields)) read(draft)
}

describe('platform kinds', () => {
  it('are discovered as kubectl api-resources prints them', () => {
    const lines = platformKinds.map((kind) =>
      [kind.plural, kind.shortNames.join(','), apiVersionOf(kind), kind.namespaced, kind.kind].join(' '),
    )
    expect(lines.sort()).toEqual(API_RESOURCES.trim().split('\n').sort())
  })

  it('serve the subresources that upstream serves', () => {
    const subresources = platformKinds.flatMap((kind) =>
      Object.entries(kind.subresources).map(([name, door]) =>
        door.type === 'scale' ? '' : `${kind.plural}/${name} ${door.verbs.join(',')}`,
      ),
    )
    expect(subresources.sort()).toEqual(SUBRESOURCES.trim().split('\n'))
  })

  it('have distinct names', () => {
    const resources = platformKinds.map((kind) => `${kind.group}/${kind.version}/${kind.plural}`)
    expect(new Set(resources).size).toBe(resources.length)
  })

  it.each(platformKinds.map((kind) => [`${kind.group || 'core'} ${kind.kind}`, kind] as const))(
    '%s never throws on an object of the right shape',
    (_, kind) => {
      const random = seededRandom(20260102)
      for (let i = 0; i < 300; i++) runHooks(kind, someObject(kind, random), someObject(kind, random))
      runHooks(kind, { metadata: {} }, { metadata: {} })
    },
  )
})
