import type { ServicePort, ServiceSpec } from '../../../generated/core-v1.ts'
import { duplicate, type FieldError, forbidden, invalid, notSupported, required } from '../../../meta/field-error.ts'
import type { FieldPath } from '../../../meta/field-path.ts'
import type { IntOrString } from '../../../meta/int-or-string.ts'
import { isDns1123Label, isPortName, isPortNumber, isQualifiedName } from '../../../meta/names.ts'

export const PROTOCOLS = ['SCTP', 'TCP', 'UDP'] as const

export function addInvalid(errors: FieldError[], path: FieldPath, value: unknown, messages: readonly string[]): void {
  for (const message of messages) errors.push(invalid(path, value, message))
}

export function validateServicePorts(errors: FieldError[], spec: Readonly<ServiceSpec>, path: FieldPath): void {
  const ports = spec.ports ?? []
  const names = new Set<string>()
  for (let i = 0; i < ports.length; i++) validatePort(errors, ports[i]!, ports.length > 1, names, path.index(i))
}

function validatePort(
  errors: FieldError[],
  port: ServicePort,
  needsName: boolean,
  names: Set<string>,
  path: FieldPath,
): void {
  if (port.name) {
    addInvalid(errors, path.child('name'), port.name, isDns1123Label(port.name))
    if (names.has(port.name)) errors.push(duplicate(path.child('name'), port.name))
    names.add(port.name)
  } else if (needsName) errors.push(required(path.child('name')))
  addInvalid(errors, path.child('port'), port.port ?? 0, isPortNumber(port.port ?? 0))
  validateProtocol(errors, port.protocol, path.child('protocol'))
  validatePortNumberOrName(errors, port.targetPort ?? 0, path.child('targetPort'))
  if (port.appProtocol !== undefined) {
    addInvalid(errors, path.child('appProtocol'), port.appProtocol, isQualifiedName(port.appProtocol))
  }
}

export function validateProtocol(errors: FieldError[], protocol: string | undefined, path: FieldPath): void {
  if (!protocol) errors.push(required(path))
  else if (!PROTOCOLS.includes(protocol as 'TCP')) errors.push(notSupported(path, protocol, PROTOCOLS))
}

export function validatePortNumberOrName(errors: FieldError[], port: IntOrString, path: FieldPath): void {
  addInvalid(errors, path, port, typeof port === 'number' ? isPortNumber(port) : isPortName(port))
}

/** Two ports of a Service may share a number only with different protocols. */
export function validatePortClashes(errors: FieldError[], spec: Readonly<ServiceSpec>, path: FieldPath): void {
  const ports = spec.ports ?? []
  if (spec.type === 'ClusterIP') forbidNodePorts(errors, ports, path)
  if (ports.length < 2) return
  const nodePorts = new Set<string>()
  for (let i = 0; i < ports.length; i++) {
    const { nodePort, protocol } = ports[i]!
    if (!nodePort) continue
    const key = `${protocol}/${nodePort}`
    if (nodePorts.has(key)) errors.push(duplicate(path.index(i).child('nodePort'), nodePort))
    nodePorts.add(key)
  }
  const numbers = new Set<string>()
  for (let i = 0; i < ports.length; i++) {
    const { port, protocol } = ports[i]!
    const key = `${protocol}/${port}`
    if (numbers.has(key)) errors.push(duplicate(path.index(i), shownPort(ports[i]!)))
    numbers.add(key)
  }
}

function forbidNodePorts(errors: FieldError[], ports: readonly ServicePort[], path: FieldPath): void {
  for (let i = 0; i < ports.length; i++) {
    if (!ports[i]!.nodePort) continue
    errors.push(forbidden(path.index(i).child('nodePort'), "may not be used when `type` is 'ClusterIP'"))
  }
}

/** The clash is named by protocol and number alone, in the form users of Kubernetes see it. */
const shownPort = ({ protocol, port }: ServicePort) => ({
  Name: '',
  Protocol: protocol,
  AppProtocol: null,
  Port: port,
  TargetPort: 0,
  NodePort: 0,
})
