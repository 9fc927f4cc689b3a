import type { Volume } from '../../../generated/core-v1.ts'
import { type FieldError, invalid, notSupported, required } from '../../../meta/field-error.ts'
import type { FieldPath } from '../../../meta/field-path.ts'
import { isInRange } from '../../../meta/names.ts'
import { refuseField } from './pod-check.ts'
import { checkNoBacksteps, checkRelativePath } from './volume-paths.ts'

type Sources = Omit<Volume, 'name'>
type Check<T> = (source: T, path: FieldPath, errors: FieldError[]) => void

/** Most types from before CSI only name what must be there. */
const needs =
  <T extends object>(...fields: (keyof T & string)[]): Check<T> =>
  (source, path, errors) => {
    for (const field of fields) {
      const value = source[field] as unknown
      if (value === undefined || value === '' || (Array.isArray(value) && value.length === 0))
        errors.push(required(path.child(field)))
    }
  }

const needsWithPartition = <T extends { partition?: number }>(field: keyof T & string): Check<T> => {
  const check = needs<T>(field)
  return (source, path, errors) => {
    check(source, path, errors)
    const partition = source.partition ?? 0
    if (partition !== 0) refuseField(errors, path, 'partition', partition, isInRange(partition, 1, 255))
  }
}

const nfs: Check<NonNullable<Sources['nfs']>> = (source, path, errors) => {
  needs<typeof source>('server', 'path')(source, path, errors)
  if (source.path && !source.path.startsWith('/'))
    errors.push(invalid(path.child('path'), source.path, 'must be an absolute path'))
}

const gitRepo: Check<NonNullable<Sources['gitRepo']>> = (source, path, errors) => {
  needs<typeof source>('repository')(source, path, errors)
  checkRelativePath(source.directory ?? '', path.child('directory'), errors)
}

const IQN = /^iqn\.\d{4}-\d{2}\.[A-Za-z0-9.-]+(?::[^,;*&$|\s]+)$/
const EUI = /^eui\.[A-Za-z0-9]{16}$/
const NAA = /^naa\.[A-Za-z0-9]{32}$/

function checkInitiator(name: string, path: FieldPath, errors: FieldError[]): void {
  const pattern = name.startsWith('iqn') ? IQN : name.startsWith('eui') ? EUI : name.startsWith('naa') ? NAA : undefined
  if (!pattern) errors.push(invalid(path, name, 'must be valid format starting with iqn, eui, or naa'))
  else if (!pattern.test(name)) errors.push(invalid(path, name, 'must be valid format'))
}

const iscsi: Check<NonNullable<Sources['iscsi']>> = (source, path, errors) => {
  needs<typeof source>('targetPortal', 'iqn')(source, path, errors)
  if (source.iqn) checkInitiator(source.iqn, path.child('iqn'), errors)
  refuseField(errors, path, 'lun', source.lun ?? 0, isInRange(source.lun ?? 0, 0, 255))
  if ((source.chapAuthDiscovery || source.chapAuthSession) && !source.secretRef)
    errors.push(required(path.child('secretRef')))
  if (source.initiatorName !== undefined) checkInitiator(source.initiatorName, path.child('initiatorname'), errors)
}

const fc: Check<NonNullable<Sources['fc']>> = (source, path, errors) => {
  const wwns = source.targetWWNs?.length ?? 0
  const wwids = source.wwids?.length ?? 0
  if (wwns === 0 && wwids === 0)
    errors.push(required(path.child('targetWWNs'), 'must specify either targetWWNs or wwids, but not both'))
  if (wwns > 0 && wwids > 0)
    errors.push(
      invalid(path.child('targetWWNs'), source.targetWWNs, 'targetWWNs and wwids can not be specified simultaneously'),
    )
  if (wwns === 0) return
  if (source.lun === undefined) errors.push(required(path.child('lun'), 'lun is required if targetWWNs is specified'))
  else refuseField(errors, path, 'lun', source.lun, isInRange(source.lun, 0, 255))
}

const flocker: Check<NonNullable<Sources['flocker']>> = (source, path, errors) => {
  if (!source.datasetName && !source.datasetUUID)
    errors.push(required(path, 'one of datasetName and datasetUUID is required'))
  if (source.datasetName && source.datasetUUID)
    errors.push(invalid(path, 'resource', 'datasetName and datasetUUID can not be specified simultaneously'))
  if (source.datasetName?.includes('/'))
    errors.push(invalid(path.child('datasetName'), source.datasetName, "must not contain '/'"))
}

const flexVolume: Check<NonNullable<Sources['flexVolume']>> = (source, path, errors) => {
  needs<typeof source>('driver')(source, path, errors)
  for (const key in source.options) {
    const domain = key.split('/')[0]!
    if (key.includes('/') && /(?:^|\.)(?:kubernetes|k8s)\.io$/.test(domain))
      errors.push(invalid(path.child('options').key(key), key, 'kubernetes.io and k8s.io namespaces are reserved'))
  }
}

const quobyte: Check<NonNullable<Sources['quobyte']>> = (source, path, errors) => {
  const pairs = 'must be a host:port pair or multiple pairs separated by commas'
  if (!source.registry) errors.push(required(path.child('registry'), pairs))
  else if (source.registry.split(',').some((pair) => !/^[^:]*:[^:]+$|^\[.*\]:\d+$/.test(pair)))
    errors.push(invalid(path.child('registry'), source.registry, pairs))
  if ((source.tenant?.length ?? 0) >= 65)
    errors.push(required(path.child('tenant'), 'must be a UUID and may not exceed a length of 64 characters'))
  needs<typeof source>('volume')(source, path, errors)
}

const CACHING_MODES = ['None', 'ReadOnly', 'ReadWrite']
const DISK_KINDS = ['Dedicated', 'Managed', 'Shared']

const azureDisk: Check<NonNullable<Sources['azureDisk']>> = (source, path, errors) => {
  needs<typeof source>('diskName', 'diskURI')(source, path, errors)
  if (source.cachingMode !== undefined && !CACHING_MODES.includes(source.cachingMode))
    errors.push(notSupported(path.child('cachingMode'), source.cachingMode, CACHING_MODES))
  if (source.kind !== undefined && !DISK_KINDS.includes(source.kind))
    errors.push(notSupported(path.child('kind'), source.kind, DISK_KINDS))
  const managed = source.kind === 'Managed'
  const uri = source.diskURI ?? ''
  if (source.kind !== undefined && uri !== '' && !uri.startsWith(managed ? '/subscriptions/' : 'https://'))
    errors.push(
      notSupported(path.child('diskURI'), uri, [
        managed
          ? '/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}'
          : 'https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd',
      ]),
    )
}

const storageos: Check<NonNullable<Sources['storageos']>> = (source, path, errors) => {
  needs<typeof source>('volumeName')(source, path, errors)
  if (source.secretRef && !source.secretRef.name) errors.push(required(path.child('secretRef', 'name')))
}

const cinder: Check<NonNullable<Sources['cinder']>> = (source, path, errors) => {
  needs<typeof source>('volumeID')(source, path, errors)
  if (source.secretRef && !source.secretRef.name) errors.push(required(path.child('secretRef', 'name')))
}

/** Gives each check the source itself and its path. */
const at =
  <K extends keyof Sources>(field: K, check: Check<NonNullable<Sources[K]>>) =>
  (volume: Volume, path: FieldPath, errors: FieldError[]): void =>
    check(volume[field] as NonNullable<Sources[K]>, path.child(field), errors)

export const IN_TREE_SOURCES = {
  awsElasticBlockStore: at('awsElasticBlockStore', needsWithPartition('volumeID')),
  azureDisk: at('azureDisk', azureDisk),
  azureFile: at('azureFile', needs('secretName', 'shareName')),
  cephfs: at('cephfs', needs('monitors')),
  cinder: at('cinder', cinder),
  fc: at('fc', fc),
  flexVolume: at('flexVolume', flexVolume),
  flocker: at('flocker', flocker),
  gcePersistentDisk: at('gcePersistentDisk', needsWithPartition('pdName')),
  gitRepo: at('gitRepo', gitRepo),
  glusterfs: at('glusterfs', (source, path, errors) => {
    needs<typeof source>('endpoints', 'path')(source, path, errors)
    if (source.path) checkNoBacksteps(source.path, path.child('path'), errors)
  }),
  iscsi: at('iscsi', iscsi),
  nfs: at('nfs', nfs),
  photonPersistentDisk: at('photonPersistentDisk', needs('pdID')),
  portworxVolume: at('portworxVolume', needs('volumeID')),
  quobyte: at('quobyte', quobyte),
  rbd: at('rbd', needs('monitors', 'image')),
  scaleIO: at('scaleIO', needs('gateway', 'system', 'volumeName')),
  storageos: at('storageos', storageos),
  vsphereVolume: at('vsphereVolume', needs('volumePath')),
}
