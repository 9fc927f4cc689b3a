import { ApiError, forbiddenAccess, objectNotFound } from '../../api/meta/api-error.ts'
import type { KubernetesObject } from '../../api/meta/object.ts'
import { NAMESPACE } from '../../api/meta/well-known.ts'
import type { Lister } from './lister.ts'
import type { AdmissionPlugin, AdmissionRequest } from './plugin.ts'

/** Without these a cluster does not work. */
const IMMORTAL = new Set(['default', NAMESPACE.system, NAMESPACE.public])

/**
 * Nothing is created in a namespace that does not exist or is going away, and the namespaces the cluster itself
 * lives in are not deleted.
 */
export function namespaceLifecycle(namespaces: Pick<Lister<KubernetesObject>, 'get'>): AdmissionPlugin {
  return {
    name: 'NamespaceLifecycle',
    admit(request) {
      const isNamespace = request.kind.group === '' && request.kind.plural === 'namespaces'
      if (isNamespace && request.operation === 'DELETE' && IMMORTAL.has(request.name)) {
        throw forbiddenAccess({ group: '', resource: 'namespaces' }, request.name, 'this namespace may not be deleted')
      }
      if (request.operation !== 'CREATE' || request.namespace === '' || isNamespace) return
      const found = namespaces.get(request.namespace)
      if (found instanceof Promise) return found.then((namespace) => mustBeAlive(request, namespace))
      mustBeAlive(request, found)
    },
  }
}

function mustBeAlive(request: AdmissionRequest, found: KubernetesObject | undefined): void {
  const { namespace, kind } = request
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
