import type { Stage } from './stage.ts'

/** Serves health and version, to clients without credentials too. */
export const servePublicPaths: Stage = ({ publicPaths }, request, next) => (publicPaths(request.path) ?? next)(request)
