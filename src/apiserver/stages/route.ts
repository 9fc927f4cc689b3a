import { pathNotFound } from '../../api/meta/api-error.ts'
import { handleResource } from '../handlers/resource-handler.ts'
import type { Stage } from './stage.ts'

/** Hands the request to the handler of its resource or path. */
export const route: Stage = (server, request) => {
  const { info } = request
  if (info.isResource) return handleResource(server, request, info)
  const handler = server.paths(request.path)
  if (!handler) throw pathNotFound()
  return handler(request)
}
