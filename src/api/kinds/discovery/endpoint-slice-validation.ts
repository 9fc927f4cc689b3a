import { parseSloppyIP } from '../../../base/ip-address.ts'
import type { Endpoint, EndpointHints, EndpointPort, EndpointSlice } from '../../generated/discovery-v1.ts'
import { duplicate, type FieldError, invalid, notSupported, required, tooMany } from '../../meta/field-error.ts'
import { FieldPath } from '../../meta/field-path.ts'
import { validateCanonicalIP, validateEndpointIP, validateIP } from '../../meta/ip-validation.ts'
import { validateLabels } from '../../meta/labels-validation.ts'
import { isDns1123Label, isDns1123Subdomain, isLabelValue, isQualifiedName } from '../../meta/names.ts'
import { addInvalid, PROTOCOLS } from '../core/service/port-validation.ts'

const ADDRESS_TYPES = ['FQDN', 'IPv4', 'IPv6'] as const
const MAX_ENDPOINTS = 1000
const MAX_PORTS = 20000
const MAX_ADDRESSES = 100
const MAX_TOPOLOGY_LABELS = 16
const MAX_HINTS = 8

const ENDPOINTS = FieldPath.root('endpoints')
const PORTS = FieldPath.root('ports')
const ADDRESS_TYPE = FieldPath.root('addressType')

/** Endpoints that are the very `old` ones in their old places were found valid when those were written. */
export function validateEndpointSlice(slice: EndpointSlice, old: readonly Endpoint[] = []): FieldError[] {
  const errors: FieldError[] = []
  const type = slice.addressType
  if (!type) errors.push(required(ADDRESS_TYPE))
  else if (!ADDRESS_TYPES.includes(type as 'IPv4')) errors.push(notSupported(ADDRESS_TYPE, type, ADDRESS_TYPES))
  validatePorts(errors, slice.ports ?? [])
  const endpoints = slice.endpoints ?? []
  if (endpoints.length > MAX_ENDPOINTS) errors.push(tooMany(ENDPOINTS, endpoints.length, MAX_ENDPOINTS))
  else
    for (let i = 0; i < endpoints.length; i++)
      if (endpoints[i] !== old[i]) validateEndpoint(errors, endpoints[i]!, type, ENDPOINTS.index(i))
  return errors
}

function validatePorts(errors: FieldError[], ports: readonly EndpointPort[]): void {
  if (ports.length > MAX_PORTS) {
    errors.push(tooMany(PORTS, ports.length, MAX_PORTS))
    return
  }
  const names = new Set<string>()
  for (let i = 0; i < ports.length; i++) {
    const { name = '', protocol, appProtocol } = ports[i]!
    const path = PORTS.index(i)
    if (name !== '') addInvalid(errors, path.child('name'), name, isDns1123Label(name))
    if (names.has(name)) errors.push(duplicate(path.child('name'), name))
    names.add(name)
    if (protocol === undefined) errors.push(required(path.child('protocol')))
    else if (!PROTOCOLS.includes(protocol as 'TCP')) {
      errors.push(notSupported(path.child('protocol'), protocol, PROTOCOLS))
    }
    if (appProtocol !== undefined) {
      addInvalid(errors, path.child('appProtocol'), appProtocol, isQualifiedName(appProtocol))
    }
  }
}

function validateEndpoint(errors: FieldError[], endpoint: Endpoint, type: string, path: FieldPath): void {
  const { addresses = [], nodeName, deprecatedTopology, hostname, hints } = endpoint
  const addressesPath = path.child('addresses')
  if (addresses.length === 0) errors.push(required(addressesPath, 'must contain at least 1 address'))
  else if (addresses.length > MAX_ADDRESSES) errors.push(tooMany(addressesPath, addresses.length, MAX_ADDRESSES))
  for (let i = 0; i < addresses.length; i++) validateAddress(errors, addresses[i]!, type, addressesPath, i)
  if (nodeName !== undefined) addInvalid(errors, path.child('nodeName'), nodeName, isDns1123Subdomain(nodeName))
  if (deprecatedTopology) {
    const topologyPath = path.child('deprecatedTopology')
    const size = Object.keys(deprecatedTopology).length
    if (size > MAX_TOPOLOGY_LABELS) errors.push(tooMany(topologyPath, size, MAX_TOPOLOGY_LABELS))
    errors.push(...validateLabels(deprecatedTopology, topologyPath))
  }
  if (hostname !== undefined) addInvalid(errors, path.child('hostname'), hostname, isDns1123Label(hostname))
  if (hints) validateHints(errors, hints, path.child('hints'))
}

/** IPv6 came late enough to be held to the canonical spelling. A wrong family is told of the list, not the item. */
function validateAddress(errors: FieldError[], address: string, type: string, list: FieldPath, index: number): void {
  const path = list.index(index)
  if (type === 'FQDN') validateDomainName(errors, address, path)
  if (type !== 'IPv4' && type !== 'IPv6') return
  const wellFormed = type === 'IPv4' ? validateIP(errors, path, address) : validateCanonicalIP(errors, path, address)
  if (!wellFormed) return
  if (parseSloppyIP(address)?.family !== type) errors.push(invalid(list, address, `must be an ${type} address`))
  validateEndpointIP(errors, path, address)
}

function validateDomainName(errors: FieldError[], address: string, path: FieldPath): void {
  if (address === '') {
    errors.push(required(path))
    return
  }
  const name = address.endsWith('.') ? address.slice(0, -1) : address
  const labels = name.split('.')
  const messages = isDns1123Subdomain(name)
  if (messages.length > 0) errors.push(invalid(path, name, messages.join(',')))
  else if (labels.length < 2) {
    errors.push(invalid(path, name, 'should be a domain with at least two segments separated by dots'))
  } else {
    const bad = labels.find((label) => isDns1123Label(label).length > 0)
    if (bad !== undefined) errors.push(invalid(path, bad, isDns1123Label(bad).join(',')))
  }
}

function validateHints(errors: FieldError[], hints: EndpointHints, path: FieldPath): void {
  const { forZones = [], forNodes = [] } = hints
  if (forZones.length > MAX_HINTS) {
    errors.push(tooMany(path.child('forZones'), forZones.length, MAX_HINTS))
    return
  }
  validateHintNames(errors, forZones, isLabelValue, path.child('forZones'))
  if (forNodes.length > MAX_HINTS) errors.push(tooMany(path.child('forNodes'), forNodes.length, MAX_HINTS))
  else validateHintNames(errors, forNodes, isDns1123Subdomain, path.child('forNodes'))
}

function validateHintNames(
  errors: FieldError[],
  hints: readonly { name: string }[],
  check: (name: string) => string[],
  path: FieldPath,
): void {
  const names = new Set<string>()
  for (let i = 0; i < hints.length; i++) {
    const name = hints[i]!.name ?? ''
    const namePath = path.index(i).child('name')
    if (names.has(name)) errors.push(duplicate(namePath, name))
    names.add(name)
    addInvalid(errors, namePath, name, check(name))
  }
}
