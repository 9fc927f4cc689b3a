import type { Kind } from '../../../api/kind.ts'
import type { AdmissionRequest } from '../plugin.ts'
import { kindThrough } from './seen-request.ts'

/** What is told of a request besides its objects; the same in reviews and in expressions. `kind` is the version seen. */
export function requestFields(request: AdmissionRequest, kind: Kind): Record<string, unknown> {
  const { subresource, user } = request
  const asked = request.requestKind ?? request.kind
  const resourceOf = ({ group, version, plural }: Kind) => ({ group, version, resource: plural })
  const isNamespace = kind.group === '' && kind.plural === 'namespaces'
  const namespace = isNamespace ? request.name : request.namespace
  return {
    kind: kindThrough(kind, subresource),
    resource: resourceOf(kind),
    ...(subresource && { subResource: subresource }),
    requestKind: kindThrough(asked, subresource),
    requestResource: resourceOf(asked),
    ...(subresource && { requestSubResource: subresource }),
    ...(request.name && { name: request.name }),
    ...(namespace && { namespace }),
    operation: request.operation,
    userInfo: {
      username: user.name,
      ...(user.uid && { uid: user.uid }),
      groups: user.groups,
      ...(user.extra && { extra: user.extra }),
    },
    dryRun: request.dryRun,
    options: request.options ?? null,
  }
}
