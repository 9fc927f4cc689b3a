import type { Container, EphemeralContainer, VolumeMount } from '../../../generated/core-v1.ts'
import { type FieldError, forbidden, invalid, notFound, notSupported, required } from '../../../meta/field-error.ts'
import type { FieldPath } from '../../../meta/field-path.ts'
import type { PodCheck } from './pod-check.ts'
import { checkRelativePath } from './volume-paths.ts'

const PROPAGATIONS = ['Bidirectional', 'HostToContainer', 'None']
const RECURSIVE_READ_ONLY = ['Disabled', 'Enabled', 'IfPossible']

type AnyContainer = Container | EphemeralContainer

export function validateVolumeMounts(check: PodCheck, container: AnyContainer, path: FieldPath): void {
  const { errors } = check
  const mountPaths = new Set<string>()
  container.volumeMounts?.forEach((mount, i) => {
    const at = path.index(i)
    const { name = '', mountPath = '' } = mount
    if (name === '') errors.push(required(at.child('name')))
    if (!check.volumes.has(name)) errors.push(notFound(at.child('name'), name))
    if (mountPath === '') errors.push(required(at.child('mountPath')))
    if (mountPaths.has(mountPath)) errors.push(invalid(at.child('mountPath'), mountPath, 'must be unique'))
    mountPaths.add(mountPath)
    for (const device of container.volumeDevices ?? []) {
      if (device.name === name) errors.push(invalid(at.child('name'), name, 'must not already exist in volumeDevices'))
      if (device.devicePath === mountPath)
        errors.push(invalid(at.child('mountPath'), mountPath, 'must not already exist as a path in volumeDevices'))
    }
    checkSubPaths(mount, at, errors)
    if (mount.mountPropagation !== undefined) checkPropagation(mount.mountPropagation, container, at, errors)
    if (mount.recursiveReadOnly !== undefined) checkRecursiveReadOnly(mount, at.child('recursiveReadOnly'), errors)
  })
}

function checkSubPaths(mount: VolumeMount, path: FieldPath, errors: FieldError[]): void {
  if (mount.subPath) checkRelativePath(mount.subPath, path.child('subPath'), errors)
  if (!mount.subPathExpr) return
  if (mount.subPath)
    errors.push(invalid(path.child('subPathExpr'), mount.subPathExpr, 'subPathExpr and subPath are mutually exclusive'))
  checkRelativePath(mount.subPathExpr, path.child('subPathExpr'), errors)
}

function checkPropagation(mode: string, container: AnyContainer, parent: FieldPath, errors: FieldError[]): void {
  const path = parent.child('mountPropagation')
  if (!PROPAGATIONS.includes(mode)) errors.push(notSupported(path, mode, PROPAGATIONS))
  if (mode === 'Bidirectional' && !container.securityContext?.privileged)
    errors.push(forbidden(path, 'Bidirectional mount propagation is available only to privileged containers'))
}

function checkRecursiveReadOnly(mount: VolumeMount, path: FieldPath, errors: FieldError[]): void {
  const mode = mount.recursiveReadOnly ?? ''
  if (mode === 'Disabled') return
  if (!RECURSIVE_READ_ONLY.includes(mode)) {
    errors.push(notSupported(path, mode, RECURSIVE_READ_ONLY))
    return
  }
  if (!mount.readOnly) errors.push(forbidden(path, 'may only be specified when readOnly is true'))
  if (mount.mountPropagation !== undefined && mount.mountPropagation !== 'None')
    errors.push(forbidden(path, 'may only be specified when mountPropagation is None or not specified'))
}

export function validateVolumeDevices(check: PodCheck, container: AnyContainer, path: FieldPath): void {
  const { errors } = check
  const names = new Set<string>()
  const paths = new Set<string>()
  container.volumeDevices?.forEach((device, i) => {
    const at = path.index(i)
    const { name = '', devicePath = '' } = device
    const volume = check.volumes.get(name)
    if (name === '') errors.push(required(at.child('name')))
    if (names.has(name)) errors.push(invalid(at.child('name'), name, 'must be unique'))
    if (!volume) errors.push(notFound(at.child('name'), name))
    else if (!volume.persistentVolumeClaim && !volume.ephemeral)
      errors.push(
        invalid(
          at.child('name'),
          name,
          'can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode',
        ),
      )
    if (devicePath === '') errors.push(required(at.child('devicePath')))
    if (paths.has(devicePath)) errors.push(invalid(at.child('devicePath'), devicePath, 'must be unique'))
    if (devicePath.split('/').includes('..'))
      errors.push(invalid(at.child('devicePath'), devicePath, "can not contain backsteps ('..')"))
    names.add(name)
    paths.add(devicePath)
    for (const mount of container.volumeMounts ?? []) {
      if (mount.name === name) errors.push(invalid(at.child('name'), name, 'must not already exist in volumeMounts'))
      if (mount.mountPath === devicePath)
        errors.push(invalid(at.child('devicePath'), devicePath, 'must not already exist as a path in volumeMounts'))
    }
  })
}
