import type { Container, PodSpec } from '../../../generated/core-v1.ts'
import { type FieldError, forbidden, invalid, notSupported, required } from '../../../meta/field-error.ts'
import type { FieldPath } from '../../../meta/field-path.ts'

const SYSTEMS = ['linux', 'windows']
const NOT_ON_WINDOWS = 'cannot be set for a windows pod'
const NOT_ON_LINUX = 'windows options cannot be set for a linux pod'
const LINUX_POD_CONTEXT = [
  'appArmorProfile',
  'seLinuxOptions',
  'seccompProfile',
  'fsGroup',
  'fsGroupChangePolicy',
  'sysctls',
  'runAsUser',
  'runAsGroup',
  'supplementalGroups',
  'supplementalGroupsPolicy',
  'seLinuxChangePolicy',
] as const
const LINUX_CONTAINER_CONTEXT = [
  'appArmorProfile',
  'seLinuxOptions',
  'seccompProfile',
  'capabilities',
  'readOnlyRootFilesystem',
  'privileged',
  'allowPrivilegeEscalation',
  'procMount',
  'runAsUser',
  'runAsGroup',
] as const

/** A pod that says its system may only use what that system has. */
export function validateOperatingSystem(spec: PodSpec, path: FieldPath, errors: FieldError[]): void {
  const name = spec.os?.name
  if (!name) errors.push(required(path.child('os', 'name')))
  else if (!SYSTEMS.includes(name)) errors.push(notSupported(path.child('os'), name, SYSTEMS))
  else if (name === 'linux') checkLinux(spec, path, errors)
  else checkWindows(spec, path, errors)
}

function checkLinux(spec: PodSpec, path: FieldPath, errors: FieldError[]): void {
  if (spec.securityContext?.windowsOptions)
    errors.push(forbidden(path.child('securityContext', 'windowsOptions'), NOT_ON_LINUX))
  eachContainer(spec, path, (container, at) => {
    if (container.securityContext?.windowsOptions)
      errors.push(forbidden(at.child('securityContext', 'windowsOptions'), NOT_ON_LINUX))
  })
}

function checkWindows(spec: PodSpec, path: FieldPath, errors: FieldError[]): void {
  for (const field of LINUX_POD_CONTEXT)
    if (spec.securityContext?.[field] !== undefined)
      errors.push(forbidden(path.child('securityContext', field), NOT_ON_WINDOWS))
  if (spec.hostUsers !== undefined) errors.push(forbidden(path.child('hostUsers'), NOT_ON_WINDOWS))
  if (spec.hostPID) errors.push(forbidden(path.child('hostPID'), NOT_ON_WINDOWS))
  if (spec.hostIPC) errors.push(forbidden(path.child('hostIPC'), NOT_ON_WINDOWS))
  if (spec.shareProcessNamespace !== undefined)
    errors.push(forbidden(path.child('shareProcessNamespace'), NOT_ON_WINDOWS))
  eachContainer(spec, path, (container, at) => {
    for (const field of LINUX_CONTAINER_CONTEXT)
      if (container.securityContext?.[field] !== undefined)
        errors.push(forbidden(at.child('securityContext', field), NOT_ON_WINDOWS))
  })
}

function eachContainer(spec: PodSpec, path: FieldPath, visit: (container: Container, path: FieldPath) => void): void {
  for (const field of ['initContainers', 'containers'] as const) {
    const containers = spec[field]
    for (let i = 0; i < (containers?.length ?? 0); i++) visit(containers![i]!, path.child(field).index(i))
  }
}

/** Windows' privileged containers: all of a pod or none, and on the host's network. */
export function validateWindowsHostProcess(spec: PodSpec, path: FieldPath, errors: FieldError[]): void {
  const ofPod = spec.securityContext?.windowsOptions?.hostProcess
  let containers = 0
  let hostProcesses = 0
  eachContainer(spec, path, (container, at) => {
    const ofContainer = container.securityContext?.windowsOptions?.hostProcess
    if (ofPod !== undefined && ofContainer !== undefined && ofPod !== ofContainer)
      errors.push(
        invalid(
          at.child('securityContext', 'windowsOptions', 'hostProcess'),
          ofContainer,
          `pod hostProcess value must be identical if both are specified, was ${ofPod}`,
        ),
      )
    containers++
    if (ofContainer ?? ofPod) hostProcesses++
  })
  if (hostProcesses === 0) return
  if (hostProcesses !== containers)
    errors.push(
      invalid(
        path,
        '',
        'If pod contains any hostProcess containers then all containers must be HostProcess containers',
      ),
    )
  if (!spec.hostNetwork)
    errors.push(
      invalid(path.child('hostNetwork'), false, 'hostNetwork must be true if pod contains any hostProcess containers'),
    )
}
