import type { EndpointAddress, EndpointPort, EndpointSubset, Endpoints } from '../../generated/core-v1.ts'
import { defineKind } from '../../kind.ts'
import { type FieldError, required } from '../../meta/field-error.ts'
import { FieldPath } from '../../meta/field-path.ts'
import { ipWarnings, validateEndpointIP, validateIP } from '../../meta/ip-validation.ts'
import { isDns1123Label, isDns1123Subdomain, isPortNumber, isQualifiedName } from '../../meta/names.ts'
import { LABEL } from '../../meta/well-known.ts'
import { ageColumn, column, nameColumn } from './printed-columns.ts'
import { addInvalid, validateProtocol } from './service/port-validation.ts'

const SUBSETS = FieldPath.root('subsets')
const DEPRECATED = 'v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice'

/** The controller writes canonical addresses only, and often: its objects are not searched for bad ones. */
const CONTROLLER = 'endpoint-controller'

export const endpointsKind = defineKind<Endpoints>({
  group: '',
  version: 'v1',
  kind: 'Endpoints',
  plural: 'endpoints',
  singular: 'endpoints',
  shortNames: ['ep'],
  schema: 'io.k8s.api.core.v1.Endpoints',
  createOnUpdate: true,
  defaults(draft) {
    for (const subset of draft.subsets ?? []) for (const port of subset.ports ?? []) port.protocol ||= 'TCP'
  },
  validate: validateEndpoints,
  warnings: endpointsWarnings,
  columns: [nameColumn, column<Endpoints>('Endpoints', 'Addresses and ports that serve.', formatEndpoints), ageColumn],
})

function validateEndpoints(endpoints: Endpoints): FieldError[] {
  const errors: FieldError[] = []
  const subsets = endpoints.subsets ?? []
  for (let i = 0; i < subsets.length; i++) validateSubset(errors, subsets[i]!, SUBSETS.index(i))
  return errors
}

function validateSubset(errors: FieldError[], subset: EndpointSubset, path: FieldPath): void {
  const { addresses = [], notReadyAddresses = [], ports = [] } = subset
  if (addresses.length === 0 && notReadyAddresses.length === 0) {
    errors.push(required(path, 'must specify `addresses` or `notReadyAddresses`'))
  }
  validateAddresses(errors, addresses, path.child('addresses'))
  validateAddresses(errors, notReadyAddresses, path.child('notReadyAddresses'))
  const portsPath = path.child('ports')
  for (let i = 0; i < ports.length; i++) validatePort(errors, ports[i]!, ports.length > 1, portsPath.index(i))
}

function validateAddresses(errors: FieldError[], addresses: readonly EndpointAddress[], path: FieldPath): void {
  for (let i = 0; i < addresses.length; i++) {
    const { ip = '', hostname, nodeName } = addresses[i]!
    const item = path.index(i)
    validateIP(errors, item.child('ip'), ip)
    if (hostname) addInvalid(errors, item.child('hostname'), hostname, isDns1123Label(hostname))
    if (nodeName !== undefined) addInvalid(errors, item.child('nodeName'), nodeName, isDns1123Subdomain(nodeName))
    validateEndpointIP(errors, item.child('ip'), ip)
  }
}

function validatePort(errors: FieldError[], port: EndpointPort, needsName: boolean, path: FieldPath): void {
  if (port.name) addInvalid(errors, path.child('name'), port.name, isDns1123Label(port.name))
  else if (needsName) errors.push(required(path.child('name')))
  addInvalid(errors, path.child('port'), port.port ?? 0, isPortNumber(port.port ?? 0))
  validateProtocol(errors, port.protocol, path.child('protocol'))
  if (port.appProtocol !== undefined) {
    addInvalid(errors, path.child('appProtocol'), port.appProtocol, isQualifiedName(port.appProtocol))
  }
}

function endpointsWarnings(endpoints: Endpoints): string[] {
  const warnings = [DEPRECATED]
  if (endpoints.metadata.labels?.[LABEL.endpointsManagedBy] === CONTROLLER) return warnings
  endpoints.subsets?.forEach((subset, i) => {
    for (const field of ['addresses', 'notReadyAddresses'] as const) {
      const path = SUBSETS.index(i).child(field)
      subset[field]?.forEach(({ ip }, j) => {
        warnings.push(...ipWarnings(path.index(j).child('ip'), ip ?? ''))
      })
    }
  })
  return warnings
}

const SHOWN = 3

/** The first three addresses, and how many more there are. Not-ready ones are not counted. */
function formatEndpoints(endpoints: Endpoints): string {
  const subsets = endpoints.subsets ?? []
  if (subsets.length === 0) return '<none>'
  const shown: string[] = []
  let count = 0
  for (const { addresses = [], ports = [] } of subsets) {
    const suffixes = ports.length === 0 ? [undefined] : ports.map((port) => port.port)
    for (const port of suffixes) {
      count += addresses.length
      for (const { ip = '' } of addresses.slice(0, SHOWN - shown.length)) shown.push(hostPort(ip, port))
    }
  }
  return count > SHOWN ? `${shown.join(',')} + ${count - SHOWN} more...` : shown.join(',')
}

function hostPort(ip: string, port: number | undefined): string {
  if (port === undefined) return ip
  return ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`
}
