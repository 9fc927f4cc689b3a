import type { Logger } from '../../base/log.ts'
import { serveCluster } from './serve-cluster.ts'
import type { ServerSettings, Serving } from './server-settings.ts'

/** Serves a cluster or a joined node. Real pods without root take the way through a user namespace. */
export async function serve(settings: ServerSettings, log: Logger, entry: string): Promise<Serving> {
  if (settings.membership) {
    const { serveJoinedNode } = await import('./serve-joined-node.ts')
    return serveJoinedNode(settings.instance, settings.membership, log)
  }
  const { isInside = false, configuration } = settings
  const needsNoNamespace = process.getuid?.() === 0 || !configuration.nodes || configuration.runtime !== 'builtin'
  if (needsNoNamespace && !isInside) return serveCluster(settings, log)
  const { serveFromOutside, serveInside } = await import('./serve-rootless.ts')
  return isInside ? serveInside(settings, log) : serveFromOutside(settings, log, entry)
}
