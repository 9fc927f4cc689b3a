import { ApiError, forbiddenAccess, objectNotFound } from '../../api/meta/api-error.ts'
import type { KubernetesObject } from '../../api/meta/object.ts'
import type { AdmissionPlugin, AdmissionRequest } from './plugin.ts'

/** Without these a cluster does not work. */
const IMMORTAL = new Set(['default', 'kube-system', 'kube-public'])

/**
 * Nothing is created in a namespace that does not exist or is going away, and the namespaces the cluster itself
 * lives in are not deleted.
 */
export function namespaceLifecycle(find: (name: string) => Promise<KubernetesObject | undefined>): AdmissionPlugin {
  return {
    name: 'NamespaceLifecycle',
    async admit(request) {
      const isNamespace = request.kind.group === '' && request.kind.plural === 'namespaces'
      if (isNamespace && request.operation === 'DELETE' && IMMORTAL.has(request.name)) {
        throw forbiddenAccess({ group: '', resource: 'namespaces' }, request.name, 'this namespace may not be deleted')
      }
      if (request.operation === 'CREATE' && request.namespace !== '' && !isNamespace) await mustBeAlive(request, find)
    },
  }
}

async function mustBeAlive(
  request: AdmissionRequest,
  find: (name: string) => Promise<KubernetesObject | undefined>,
): Promise<void> {
  const { namespace, kind } = request
  const found = await find(namespace)
  if (!found) throw objectNotFound({ group: '', resource: 'namespaces' }, namespace)
  if (!found.metadata.deletionTimestamp) return
  const ref = { group: kind.group, resource: kind.plural }
  const message = `unable to create new content in namespace ${namespace} because it is being terminated`
  const refusal = forbiddenAccess(ref, request.name, message)
  throw new ApiError(403, 'Forbidden', refusal.message, {
    ...refusal.details,
    causes: [
      {
        reason: 'NamespaceTerminating',
        message: `namespace ${namespace} is being terminated`,
        field: 'metadata.namespace',
      },
    ],
  })
}
