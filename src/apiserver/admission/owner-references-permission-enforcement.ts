import type { Kind } from '../../api/kind.ts'
import { forbiddenAccess } from '../../api/meta/api-error.ts'
import type { KubernetesObject, OwnerReference } from '../../api/meta/object.ts'
import { deepEqual } from '../../base/deep-equal.ts'
import type { AccessAttributes, Authorizer } from '../authorization/authorizer.ts'
import type { AdmissionPlugin, AdmissionRequest } from './plugin.ts'

export type FindKind = (group: string, version: string, kind: string) => Kind | undefined

/** May finalize anything: does not have to be asked for each owner. */
const FINALIZE_ALL: AccessAttributes = {
  verb: 'update',
  resource: { group: '*', resource: '*', namespace: '', name: '*', subresource: 'finalizers' },
}

/**
 * An owner reference lets the garbage collector delete an object, and may hold up the deletion of its owner: it takes
 * the right to do either oneself.
 */
export function ownerReferencesPermissionEnforcement(authorizer: Authorizer, findKind: FindKind): AdmissionPlugin {
  return {
    name: 'OwnerReferencesPermissionEnforcement',
    validate(request) {
      const { operation, kind, subresource, draft, old } = request
      if (!draft || (operation !== 'CREATE' && operation !== 'UPDATE')) return
      // A kubelet writes the status of pods that others own.
      if (kind.group === '' && kind.plural === 'pods' && subresource === 'status') return
      if (deepEqual(draft.metadata.ownerReferences ?? [], old?.metadata.ownerReferences ?? [])) return
      return check(request, authorizer, findKind)
    },
  }
}

async function check(request: AdmissionRequest, authorizer: Authorizer, findKind: FindKind): Promise<void> {
  const { operation, kind, subresource, namespace, name, user } = request
  const ref = { group: kind.group, resource: kind.plural }
  if (operation !== 'CREATE') {
    const deletion = { verb: 'delete', resource: { ...ref, version: kind.version, namespace, name, subresource } }
    const { allowed, reason } = await authorizer.decide(user, deletion)
    const why = `cannot set an ownerRef on a resource you can't delete: ${reason}, <nil>`
    if (!allowed) throw forbiddenAccess(ref, name, why)
  }
  const blocking = newBlocking(request.draft!, request.old)
  if (blocking.length === 0 || (await authorizer.decide(user, FINALIZE_ALL)).allowed) return
  for (const owner of blocking) {
    const problem = await blockingProblem(owner, request, authorizer, findKind)
    if (problem) throw forbiddenAccess(ref, name, problem)
  }
}

/** References that hold up their owner and did not before. */
function newBlocking(draft: KubernetesObject, old: KubernetesObject | undefined): OwnerReference[] {
  const isBlocking = (owner: OwnerReference) => owner.blockOwnerDeletion
  const before = new Set(old?.metadata.ownerReferences?.filter(isBlocking).map(({ uid }) => uid))
  return (draft.metadata.ownerReferences ?? []).filter((owner) => isBlocking(owner) && !before.has(owner.uid))
}

async function blockingProblem(
  owner: OwnerReference,
  { user, namespace }: AdmissionRequest,
  authorizer: Authorizer,
  findKind: FindKind,
): Promise<string | undefined> {
  const [group, version] = owner.apiVersion.includes('/') ? owner.apiVersion.split('/') : ['', owner.apiVersion]
  const found = findKind(group!, version!, owner.kind)
  if (!found) {
    const missing = `no matches for kind ${JSON.stringify(owner.kind)} in version ${JSON.stringify(owner.apiVersion)}`
    return `cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion ${owner.apiVersion} Kind ${owner.kind}: ${missing}`
  }
  const place = { group: found.group, version: found.version, resource: found.plural, name: owner.name }
  const { allowed, reason } = await authorizer.decide(user, {
    verb: 'update',
    resource: { ...place, namespace: found.namespaced ? namespace : '', subresource: 'finalizers' },
  })
  if (allowed) return undefined
  return `cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: ${reason}, <nil>`
}
