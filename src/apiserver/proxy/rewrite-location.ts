/** Where a redirect leads, as seen from outside: what the backend calls its own is below the proxy's path. */
export function rewriteLocation(location: string, origin: string, prefix: string): string {
  if (location.startsWith('/') && !location.startsWith('//'))
    return isBelow(location, prefix) ? location : prefix + location
  const host = origin.slice(origin.indexOf('//'))
  const at = location.indexOf('//')
  if (at < 0 || !location.slice(at).startsWith(host)) return location
  const rest = location.slice(at + host.length)
  if (rest !== '' && !rest.startsWith('/') && !rest.startsWith('?') && !rest.startsWith('#')) return location
  return prefix + (rest.startsWith('/') ? rest : `/${rest}`)
}

const isBelow = (path: string, prefix: string) => path === prefix || path.startsWith(`${prefix}/`)
