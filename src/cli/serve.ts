import type { Logger } from '../base/log.ts'
import { type ServerSettings, type ServingCluster, serveCluster } from './server-process.ts'

/** Real pods without root take the way through a user namespace; what that needs is loaded only then. */
export async function serve(settings: ServerSettings, log: Logger, entry: string): Promise<ServingCluster> {
  if (settings.membership) {
    const { serveJoinedNode } = await import('./join-process.ts')
    return serveJoinedNode(settings.instance, settings.membership, log)
  }
  const { isInside = false, nodes = 0, runtime } = settings
  const isOrdinary = process.getuid?.() === 0 || nodes === 0 || runtime !== 'builtin'
  if (isOrdinary && !isInside) return serveCluster(settings, log)
  const { serveFromOutside, serveInside } = await import('./rootless.ts')
  return isInside ? serveInside(settings, log) : serveFromOutside(settings, log, entry)
}
