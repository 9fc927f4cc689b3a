import type { Service } from '../../api/generated/core-v1.ts'

/** The Service through which every pod finds the API server. */
const MASTER_NAMESPACE = 'default'
const MASTER_SERVICE = 'kubernetes'

/**
 * The variables by which containers find services that were there before them: seven for each port. The master service
 * is always among them; a service of that name in the pod's own namespace takes its place.
 */
export function serviceEnvironment(
  services: Iterable<Service>,
  namespace: string,
  enableServiceLinks: boolean,
): Map<string, string> {
  const chosen = new Map<string, Service>()
  for (const service of services) {
    const name = service.metadata.name ?? ''
    if (!hasClusterIP(service)) continue
    const isMaster = service.metadata.namespace === MASTER_NAMESPACE && name === MASTER_SERVICE
    if (isMaster && !chosen.has(name)) chosen.set(name, service)
    else if (service.metadata.namespace === namespace && enableServiceLinks) chosen.set(name, service)
  }
  const variables = new Map<string, string>()
  for (const name of [...chosen.keys()].sort()) addService(variables, chosen.get(name)!)
  return variables
}

const hasClusterIP = ({ spec }: Service) => Boolean(spec?.clusterIP) && spec?.clusterIP !== 'None'

const environmentName = (text: string) => text.replaceAll('-', '_').toUpperCase()

function addService(variables: Map<string, string>, { metadata, spec }: Service): void {
  const prefix = environmentName(metadata.name ?? '')
  const host = spec?.clusterIP ?? ''
  const [first] = spec?.ports ?? []
  if (!first) return
  variables.set(`${prefix}_SERVICE_HOST`, host)
  variables.set(`${prefix}_SERVICE_PORT`, String(first.port))
  for (const { name, port } of spec?.ports ?? [])
    if (name) variables.set(`${prefix}_SERVICE_PORT_${environmentName(name)}`, String(port))
  for (const [i, { port, protocol = 'TCP' }] of (spec?.ports ?? []).entries()) {
    const scheme = protocol.toLowerCase()
    const url = `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`
    const portPrefix = `${prefix}_PORT_${port}_${protocol.toUpperCase()}`
    if (i === 0) variables.set(`${prefix}_PORT`, url)
    variables.set(portPrefix, url)
    variables.set(`${portPrefix}_PROTO`, scheme)
    variables.set(`${portPrefix}_PORT`, String(port))
    variables.set(`${portPrefix}_ADDR`, host)
  }
}
