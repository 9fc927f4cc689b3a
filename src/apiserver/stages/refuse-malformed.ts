import type { Stage } from './stage.ts'

/** Refuses a path that cannot be read. */
export const refuseMalformed: Stage = (_server, request, next) => {
  if (request.malformed) throw request.malformed
  return next(request)
}
