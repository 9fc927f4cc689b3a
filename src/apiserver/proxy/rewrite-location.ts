/** Where answers come from and how that looks from outside. */
export interface ProxiedPlace {
  /** `/api/v1/.../proxy`: what the backend calls its root. */
  readonly prefix: string
  /** The names under which the backend knows itself: `10.0.0.1:80`, and the Host header it got. */
  readonly hosts: readonly string[]
}

const ABSOLUTE = /^(?:[a-z][a-z0-9+.-]*:)?\/\/([^/?#]*)/i

/** A link of the backend as seen from outside: what it calls its own is below the proxy's path. */
export function rewriteLocation(location: string, { prefix, hosts }: ProxiedPlace): string {
  const absolute = ABSOLUTE.exec(location)
  if (absolute && !hosts.includes(absolute[1]!)) return location
  const rest = absolute ? location.slice(absolute[0].length) : location
  const path = absolute && !rest.startsWith('/') ? `/${rest}` : rest
  if (!path.startsWith('/') || isBelow(path, prefix)) return location
  return prefix + path
}

const isBelow = (path: string, prefix: string) => path === prefix || path.startsWith(`${prefix}/`)
