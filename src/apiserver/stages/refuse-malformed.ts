import type { Stage } from './stage.ts'

/** Refuses a path that cannot be read. The sender is known by now, so the audit log names them. */
export const refuseMalformed: Stage = (_server, request, next) => {
  if (request.malformed) throw request.malformed
  return next(request)
}
