import type {
  CSIPersistentVolumeSource,
  HostPathVolumeSource,
  PersistentVolumeSpec,
} from '../../../generated/core-v1.ts'
import { type FieldError, invalid, notSupported, required, tooLong } from '../../../meta/field-error.ts'
import type { FieldPath } from '../../../meta/field-path.ts'
import { isDns1123Subdomain } from '../../../meta/names.ts'

/** Where a volume's bytes are: exactly one of these fields, each with what it cannot do without. */
const REQUIRED_FIELDS = {
  hostPath: ['path'],
  gcePersistentDisk: ['pdName'],
  awsElasticBlockStore: ['volumeID'],
  glusterfs: ['endpoints', 'path'],
  flocker: [],
  nfs: ['server', 'path'],
  rbd: ['monitors', 'image'],
  quobyte: ['registry', 'volume'],
  cephfs: ['monitors'],
  iscsi: ['targetPortal', 'iqn'],
  cinder: ['volumeID'],
  fc: [],
  flexVolume: ['driver'],
  azureFile: ['secretName', 'shareName'],
  vsphereVolume: ['volumePath'],
  photonPersistentDisk: ['pdID'],
  portworxVolume: ['volumeID'],
  azureDisk: ['diskName', 'diskURI'],
  scaleIO: ['gateway', 'system', 'volumeName'],
  local: ['path'],
  storageos: [],
  csi: ['volumeHandle'],
} as const satisfies Partial<Record<keyof PersistentVolumeSpec, readonly string[]>>

type SourceField = keyof typeof REQUIRED_FIELDS
export const SOURCE_FIELDS = Object.keys(REQUIRED_FIELDS) as SourceField[]

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
const CSI_SECRETS = [
  'controllerPublishSecretRef',
  'controllerExpandSecretRef',
  'nodePublishSecretRef',
  'nodeStageSecretRef',
  'nodeExpandSecretRef',
] as const

export function validateSource(spec: PersistentVolumeSpec, field: SourceField, path: FieldPath): FieldError[] {
  const source = spec[field] as unknown as Record<string, unknown>
  const errors: FieldError[] = []
  for (const name of REQUIRED_FIELDS[field]) if (isEmpty(source[name])) errors.push(required(path.child(name)))
  if (field === 'nfs' && !spec.nfs?.path?.startsWith('/'))
    errors.push(invalid(path.child('path'), spec.nfs?.path ?? '', 'must be an absolute path'))
  if (field === 'local') errors.push(...validatePath(spec.local?.path, path))
  if (field === 'hostPath') errors.push(...validateHostPath(spec.hostPath!, path))
  if (field === 'csi') errors.push(...validateCsi(spec.csi!, path))
  return errors
}

const isEmpty = (value: unknown) =>
  value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0)

function validatePath(value: string | undefined, path: FieldPath): FieldError[] {
  return value?.split('/').includes('..') ? [invalid(path.child('path'), value, "must not contain '..'")] : []
}

function validateHostPath(source: HostPathVolumeSource, path: FieldPath): FieldError[] {
  if (!source.path) return []
  const errors = validatePath(source.path, path)
  if (source.type !== undefined && !HOST_PATH_TYPES.includes(source.type))
    errors.push(notSupported(path.child('type'), source.type, HOST_PATH_TYPES))
  return errors
}

function validateCsi(source: CSIPersistentVolumeSource, path: FieldPath): FieldError[] {
  const errors = validateCsiDriverName(source.driver ?? '', path.child('driver'))
  for (const field of CSI_SECRETS) {
    const reference = source[field]
    if (reference && !reference.name) errors.push(required(path.child(field, 'name')))
    if (reference && !reference.namespace) errors.push(required(path.child(field, 'namespace')))
  }
  return errors
}

export function validateCsiDriverName(name: string, path: FieldPath): FieldError[] {
  if (name === '') return [required(path)]
  const errors = isDns1123Subdomain(name.toLowerCase()).map((message) => invalid(path, name, message))
  return Buffer.byteLength(name) > 63 ? [tooLong(path, 63), ...errors] : errors
}
