import type { ClusterRole, ClusterRoleBinding, Role, RoleBinding, Subject } from '../../../api/generated/rbac-v1.ts'
import { ApiError } from '../../../api/meta/api-error.ts'
import type { KubernetesObject } from '../../../api/meta/object.ts'
import { deepEqual } from '../../../base/deep-equal.ts'
import type { ResourceType, Transport } from '../../../client/transport.ts'
import type { CacheFeed } from '../../watch-cache/cache-feed.ts'
import { objectKey, storagePrefix } from '../../watch-cache/storage-key.ts'
import { uncovered } from '../rbac/coverage.ts'
import { AUTOUPDATE, defaultRoles } from './default-objects.ts'

const rbac = (plural: string, namespaced: boolean): ResourceType => ({
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  plural,
  namespaced,
})
const CLUSTER_ROLES = rbac('clusterroles', false)
const CLUSTER_ROLE_BINDINGS = rbac('clusterrolebindings', false)
const ROLES = rbac('roles', true)
const ROLE_BINDINGS = rbac('rolebindings', true)

/** The default roles and bindings, as a new cluster gets them. */
export function initialRoles(): KubernetesObject[] {
  const { clusterRoles, roles, clusterRoleBindings, roleBindings } = defaultRoles()
  return [...clusterRoles, ...roles, ...clusterRoleBindings, ...roleBindings]
}

/**
 * Brings those of the default roles and bindings that were there before up to what this version needs. What is missing is
 * added; what somebody added stays; what is annotated `autoupdate: false` is left alone. Other objects are passed over.
 */
export async function reconcileDefaultRoles(
  transport: Transport,
  feed: CacheFeed,
  wanted: readonly KubernetesObject[],
): Promise<void> {
  await Promise.all(
    wanted.map((object) => {
      const kept = KEPT.get(object.kind ?? '')
      return kept && reconcile(transport, feed, kept.resource, object, kept.merge)
    }),
  )
}

function keyOf(resource: ResourceType, { metadata: { namespace = '', name = '' } }: KubernetesObject): string {
  return objectKey(storagePrefix(resource), resource.namespaced, namespace, name)
}

/** The object as it should be; the same one if nothing is amiss, undefined if it has to be made anew. */
type Merge = (found: KubernetesObject, wanted: KubernetesObject) => KubernetesObject | undefined

/** By kind. */
const KEPT = new Map<string, { readonly resource: ResourceType; readonly merge: Merge }>([
  ['ClusterRole', { resource: CLUSTER_ROLES, merge: mergeRole as Merge }],
  ['Role', { resource: ROLES, merge: mergeRole as Merge }],
  ['ClusterRoleBinding', { resource: CLUSTER_ROLE_BINDINGS, merge: mergeBinding as Merge }],
  ['RoleBinding', { resource: ROLE_BINDINGS, merge: mergeBinding as Merge }],
])

async function reconcile(
  transport: Transport,
  feed: CacheFeed,
  resource: ResourceType,
  wanted: KubernetesObject,
  merge: Merge,
): Promise<void> {
  const { name = '', namespace } = wanted.metadata
  const place = { resource, ...(namespace && { namespace }) }
  const found = (await feed.cache(storagePrefix(resource))).get(keyOf(resource, wanted))?.object
  try {
    if (!found) return void (await transport.call({ ...place, verb: 'create', body: wanted }))
    if (found.metadata.annotations?.[AUTOUPDATE] === 'false') return
    const merged = merge(found, wanted)
    if (merged === found) return
    if (merged) return void (await transport.call({ ...place, verb: 'update', name, body: merged }))
    await transport.call({ ...place, verb: 'delete', name })
    await transport.call({ ...place, verb: 'create', body: wanted })
  } catch (error) {
    // Another API server on the same store was faster and wants the same.
    if (!(error instanceof ApiError && error.code === 409)) throw error
  }
}

function mergeRole(found: ClusterRole | Role, wanted: ClusterRole | Role): KubernetesObject {
  const metadata = mergeMetadata(found, wanted)
  const aggregationRule = (wanted as ClusterRole).aggregationRule
  const isAggregated = aggregationRule !== undefined
  const isComplete = isAggregated || deepEqual(found.rules, wanted.rules)
  const missing = isComplete ? [] : uncovered(found.rules ?? [], wanted.rules ?? [])
  const sameSum = !isAggregated || deepEqual((found as ClusterRole).aggregationRule, aggregationRule)
  if (metadata === found.metadata && missing.length === 0 && sameSum) return found
  const rules = [...(found.rules ?? []), ...missing]
  const merged = { ...found, metadata, rules, ...(isAggregated && { aggregationRule }) }
  return merged
}

function mergeBinding(
  found: RoleBinding | ClusterRoleBinding,
  wanted: RoleBinding | ClusterRoleBinding,
): KubernetesObject | undefined {
  // The role of a binding cannot be changed.
  if (!deepEqual(found.roleRef, wanted.roleRef)) return undefined
  const metadata = mergeMetadata(found, wanted)
  const subjects = found.subjects ?? []
  const missing = (wanted.subjects ?? []).filter((one) => !subjects.some((known) => isSame(known, one)))
  if (metadata === found.metadata && missing.length === 0) return found
  const merged = { ...found, metadata, subjects: [...subjects, ...missing] }
  return merged
}

const isSame = (a: Subject, b: Subject) =>
  a.kind === b.kind && a.name === b.name && (a.namespace ?? '') === (b.namespace ?? '')

/** Labels and annotations that are there win over ours. */
function mergeMetadata(found: KubernetesObject, wanted: KubernetesObject): KubernetesObject['metadata'] {
  const labels = { ...wanted.metadata.labels, ...found.metadata.labels }
  const annotations = { ...wanted.metadata.annotations, ...found.metadata.annotations }
  const isSame =
    deepEqual(labels, found.metadata.labels ?? {}) && deepEqual(annotations, found.metadata.annotations ?? {})
  return isSame ? found.metadata : { ...found.metadata, labels, annotations }
}
