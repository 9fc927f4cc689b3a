import type { Container, ContainerResizePolicy, EphemeralContainer } from '../../../generated/core-v1.ts'
import {
  duplicate,
  type FieldError,
  forbidden,
  invalid,
  notFound,
  notSupported,
  required,
} from '../../../meta/field-error.ts'
import type { FieldPath } from '../../../meta/field-path.ts'
import { isDns1123Label, isPortName, isPortNumber } from '../../../meta/names.ts'
import { validateEnv, validateEnvFrom } from './env-validation.ts'
import { validateLifecycle } from './handlers-validation.ts'
import { checkChoice, type PodCheck, refuseField } from './pod-check.ts'
import { validateProbes } from './probes-validation.ts'
import { isSidecar } from './resources.ts'
import { validateContainerResources } from './resources-validation.ts'
import { validateInitRestartPolicy, validateRestartPolicy } from './restart-policy-validation.ts'
import { validateSecurityContext } from './security-validation.ts'
import { validateVolumeDevices, validateVolumeMounts } from './volume-mounts-validation.ts'

const PULL_POLICIES = ['Always', 'IfNotPresent', 'Never']
const MESSAGE_POLICIES = ['File', 'FallbackToLogsOnError']
const PROTOCOLS = ['SCTP', 'TCP', 'UDP']
const RESIZE_RESOURCES = ['cpu', 'memory']
const RESIZE_POLICIES = ['NotRequired', 'RestartContainer']
const NOT_EPHEMERAL = 'cannot be set for an Ephemeral Container'
const NEEDS_SIDECAR = 'may not be set for init containers without restartPolicy=Always'
const EPHEMERAL_FORBIDS = [
  'ports',
  'livenessProbe',
  'readinessProbe',
  'startupProbe',
  'lifecycle',
  'resizePolicy',
  'restartPolicy',
  'restartPolicyRules',
] as const

export function validateContainers(check: PodCheck, path: FieldPath): void {
  const { errors, spec } = check
  if (spec.containers.length === 0) {
    errors.push(required(path))
    return
  }
  const names = new Set<string>()
  const hostPorts = new Set<string>()
  for (let i = 0; i < spec.containers.length; i++) {
    const container = spec.containers[i]!
    const at = path.index(i)
    checkContainer(check, container, at)
    checkUniqueName(names, container.name, at, errors)
    if (container.lifecycle) validateLifecycle(check, container.lifecycle, at.child('lifecycle'))
    validateProbes(check, container, at)
    validateRestartPolicy(container, at, errors)
    checkUniqueHostPorts(hostPorts, container, at, errors)
  }
}

export function validateInitContainers(check: PodCheck, path: FieldPath): void {
  const { errors, spec } = check
  const names = new Set(spec.containers.map((container) => container.name))
  const ofContainers = hostPortsOf(spec.containers)
  spec.initContainers?.forEach((container, i) => {
    const at = path.index(i)
    checkContainer(check, container, at)
    checkUniqueName(names, container.name, at, errors)
    validateInitRestartPolicy(container, at, errors)
    // Init containers run one after another: only a container that stays is in the way.
    checkUniqueHostPorts(new Set(isSidecar(container) ? ofContainers : []), container, at, errors)
    if (isSidecar(container)) {
      if (container.lifecycle) validateLifecycle(check, container.lifecycle, at.child('lifecycle'))
      validateProbes(check, container, at)
    } else checkPlainInitContainer(container, at, errors)
  })
}

function checkPlainInitContainer(container: Container, path: FieldPath, errors: FieldError[]): void {
  for (const field of ['lifecycle', 'livenessProbe', 'readinessProbe', 'startupProbe'] as const)
    if (container[field]) errors.push(forbidden(path.child(field), NEEDS_SIDECAR))
  container.resizePolicy?.forEach((policy, i) => {
    if (policy.restartPolicy === 'RestartContainer')
      errors.push(
        invalid(
          path.child('resizePolicy').index(i).child('restartPolicy'),
          policy.restartPolicy,
          "must not be set to 'RestartContainer' for non-sidecar initContainers",
        ),
      )
  })
}

export function validateEphemeralContainers(check: PodCheck, path: FieldPath): void {
  const { errors, spec } = check
  const others = new Set([...spec.containers, ...(spec.initContainers ?? [])].map((container) => container.name))
  const names = new Set(others)
  spec.ephemeralContainers?.forEach((container, i) => {
    const at = path.index(i)
    checkContainer(check, container, at)
    checkUniqueName(names, container.name, at, errors)
    const target = container.targetContainerName
    if (target && !others.has(target)) errors.push(notFound(at.child('targetContainerName'), target))
    checkEphemeralFields(container, at, errors)
  })
}

function checkEphemeralFields(container: EphemeralContainer, path: FieldPath, errors: FieldError[]): void {
  for (const field of EPHEMERAL_FORBIDS) {
    const value = container[field]
    if (value !== undefined && !(Array.isArray(value) && value.length === 0))
      errors.push(forbidden(path.child(field), NOT_EPHEMERAL))
  }
  const { resources } = container
  if (resources?.limits || resources?.requests || resources?.claims)
    errors.push(forbidden(path.child('resources'), NOT_EPHEMERAL))
  container.volumeMounts?.forEach((mount, i) => {
    const at = path.child('volumeMounts').index(i)
    if (mount.subPath) errors.push(forbidden(at.child('subPath'), NOT_EPHEMERAL))
    if (mount.subPathExpr) errors.push(forbidden(at.child('subPathExpr'), NOT_EPHEMERAL))
  })
}

/** Rules that every sort of container has. */
function checkContainer(check: PodCheck, container: Container | EphemeralContainer, path: FieldPath): void {
  const { errors } = check
  const { name = '', image = '' } = container
  if (name === '') errors.push(required(path.child('name')))
  else refuseField(errors, path, 'name', name, isDns1123Label(name))
  // A template may leave the image to be set later, but not be all blank.
  if (image === '') errors.push(required(path.child('image')))
  checkChoice(errors, path, 'terminationMessagePolicy', container.terminationMessagePolicy, MESSAGE_POLICIES)
  if (container.ports) checkPorts(container, path.child('ports'), errors)
  if (container.env) validateEnv(container.env, path.child('env'), errors)
  if (container.envFrom) validateEnvFrom(container.envFrom, path.child('envFrom'), errors)
  if (container.volumeMounts) validateVolumeMounts(check, container, path.child('volumeMounts'))
  if (container.volumeDevices) validateVolumeDevices(check, container, path.child('volumeDevices'))
  checkChoice(errors, path, 'imagePullPolicy', container.imagePullPolicy, PULL_POLICIES)
  if (container.resources) validateContainerResources(check, container.resources, path.child('resources'))
  if (container.resizePolicy) checkResizePolicy(check, container.resizePolicy, path.child('resizePolicy'))
  if (container.securityContext)
    validateSecurityContext(check, container.securityContext, path.child('securityContext'))
}

function checkUniqueName(names: Set<string>, name: string | undefined, path: FieldPath, errors: FieldError[]): void {
  if (name === undefined) return
  if (names.has(name)) errors.push(duplicate(path.child('name'), name))
  else names.add(name)
}

function checkPorts(container: Container | EphemeralContainer, path: FieldPath, errors: FieldError[]): void {
  const names = new Set<string>()
  container.ports?.forEach((port, i) => {
    const at = path.index(i)
    if (port.name) {
      const messages = isPortName(port.name)
      refuseField(errors, at, 'name', port.name, messages)
      if (messages.length === 0) {
        if (names.has(port.name)) errors.push(duplicate(at.child('name'), port.name))
        else names.add(port.name)
      }
    }
    if (!port.containerPort) errors.push(required(at.child('containerPort')))
    else refuseField(errors, at, 'containerPort', port.containerPort, isPortNumber(port.containerPort))
    if (port.hostPort) refuseField(errors, at, 'hostPort', port.hostPort, isPortNumber(port.hostPort))
    checkChoice(errors, at, 'protocol', port.protocol, PROTOCOLS)
  })
}

const hostPortKey = (port: { protocol?: string; hostIP?: string; hostPort?: number }) =>
  `${port.protocol ?? ''}/${port.hostIP ?? ''}/${port.hostPort}`

function hostPortsOf(containers: readonly Container[]): string[] {
  return containers.flatMap((container) => (container.ports ?? []).filter((port) => port.hostPort).map(hostPortKey))
}

function checkUniqueHostPorts(seen: Set<string>, container: Container, path: FieldPath, errors: FieldError[]): void {
  container.ports?.forEach((port, i) => {
    if (!port.hostPort) return
    const key = hostPortKey(port)
    if (seen.has(key)) errors.push(duplicate(path.child('ports').index(i).child('hostPort'), key))
    else seen.add(key)
  })
}

function checkResizePolicy(check: PodCheck, policies: readonly ContainerResizePolicy[], path: FieldPath): void {
  const { errors, spec } = check
  const seen = new Set<string>()
  policies.forEach((policy, i) => {
    const { resourceName = '', restartPolicy = '' } = policy
    if (seen.has(resourceName)) errors.push(duplicate(path.index(i), resourceName))
    seen.add(resourceName)
    if (resourceName === '') errors.push(required(path))
    else if (!RESIZE_RESOURCES.includes(resourceName)) errors.push(notSupported(path, resourceName, RESIZE_RESOURCES))
    if (restartPolicy === '') errors.push(required(path))
    else if (!RESIZE_POLICIES.includes(restartPolicy)) errors.push(notSupported(path, restartPolicy, RESIZE_POLICIES))
    else if (spec.restartPolicy === 'Never' && restartPolicy !== 'NotRequired')
      errors.push(invalid(path, restartPolicy, "must be 'NotRequired' when pod `restartPolicy` is 'Never'"))
  })
}
