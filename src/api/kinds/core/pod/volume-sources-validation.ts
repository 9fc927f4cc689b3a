import type { Volume } from '../../../generated/core-v1.ts'
import { type FieldError, forbidden, notSupported, required } from '../../../meta/field-error.ts'
import type { FieldPath } from '../../../meta/field-path.ts'
import { isDns1123Subdomain } from '../../../meta/names.ts'
import { isNegative, parseQuantity } from '../../../meta/quantity.ts'
import { IN_TREE_SOURCES } from './in-tree-volumes-validation.ts'
import { refuseField } from './pod-check.ts'
import { validateProjected } from './projected-volume-validation.ts'
import { checkCsiDriverName, validateEphemeralVolume } from './storage-volumes-validation.ts'
import { checkMode, validateDownwardFile, validateItems } from './volume-files-validation.ts'
import { checkNoBacksteps } from './volume-paths.ts'

type Sources = Omit<Volume, 'name'>
/** How a volume with this source set is checked; `path` is the volume's. */
export type SourceCheck<K extends keyof Sources> = (
  volume: Volume & { [field in K]-?: NonNullable<Sources[K]> },
  path: FieldPath,
  errors: FieldError[],
) => void

const HOST_PATH_TYPES = [
  '',
  'BlockDevice',
  'CharDevice',
  'Directory',
  'DirectoryOrCreate',
  'File',
  'FileOrCreate',
  'Socket',
]

/** Every sort of volume. */
export const VOLUME_SOURCES: { readonly [K in keyof Sources]-?: SourceCheck<K> } = {
  emptyDir({ emptyDir }, path, errors) {
    if (emptyDir.sizeLimit === undefined) return
    const limit = parseQuantity(String(emptyDir.sizeLimit))
    if (!limit || isNegative(limit))
      errors.push(forbidden(path.child('emptyDir', 'sizeLimit'), 'SizeLimit field must be a valid resource quantity'))
  },
  hostPath({ hostPath }, path, errors) {
    const at = path.child('hostPath')
    if (!hostPath.path) {
      errors.push(required(at.child('path')))
      return
    }
    checkNoBacksteps(hostPath.path, at.child('path'), errors)
    if (hostPath.type !== undefined && !HOST_PATH_TYPES.includes(hostPath.type))
      errors.push(notSupported(at.child('type'), hostPath.type, HOST_PATH_TYPES))
  },
  secret({ secret }, path, errors) {
    const at = path.child('secret')
    if (!secret.secretName) errors.push(required(at.child('secretName')))
    checkMode(secret.defaultMode, at.child('defaultMode'), errors)
    validateItems(secret.items, at.child('items'), errors)
  },
  configMap({ configMap }, path, errors) {
    const at = path.child('configMap')
    if (!configMap.name) errors.push(required(at.child('name')))
    checkMode(configMap.defaultMode, at.child('defaultMode'), errors)
    validateItems(configMap.items, at.child('items'), errors)
  },
  downwardAPI({ downwardAPI }, path, errors) {
    const at = path.child('downwardAPI')
    checkMode(downwardAPI.defaultMode, at.child('defaultMode'), errors)
    downwardAPI.items?.forEach((file) => {
      validateDownwardFile(file, at, errors)
    })
  },
  projected({ projected }, path, errors) {
    const at = path.child('projected')
    checkMode(projected.defaultMode, at.child('defaultMode'), errors)
    validateProjected(projected, at, errors)
  },
  persistentVolumeClaim({ persistentVolumeClaim }, path, errors) {
    if (!persistentVolumeClaim.claimName) errors.push(required(path.child('persistentVolumeClaim', 'claimName')))
  },
  csi({ csi }, path, errors) {
    const at = path.child('csi')
    checkCsiDriverName(csi.driver ?? '', at.child('driver'), errors)
    if (!csi.nodePublishSecretRef) return
    const { name } = csi.nodePublishSecretRef
    if (!name) errors.push(required(at.child('nodePublishSecretRef', 'name')))
    else refuseField(errors, at, 'name', name, isDns1123Subdomain(name))
  },
  ephemeral({ ephemeral }, path, errors) {
    validateEphemeralVolume(ephemeral, path.child('ephemeral'), errors)
  },
  image({ image }, path, errors) {
    const at = path.child('image')
    if (!image.reference) errors.push(required(at.child('reference')))
    const policies = ['Always', 'IfNotPresent', 'Never']
    if (!policies.includes(image.pullPolicy ?? ''))
      errors.push(notSupported(at.child('pullPolicy'), image.pullPolicy, policies))
  },
  ...IN_TREE_SOURCES,
}
