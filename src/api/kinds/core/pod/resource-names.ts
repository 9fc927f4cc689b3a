import type { FieldError } from '../../../meta/field-error.ts'
import { invalid, notSupported } from '../../../meta/field-error.ts'
import type { FieldPath } from '../../../meta/field-path.ts'
import { isQualifiedName } from '../../../meta/names.ts'

const STANDARD_CONTAINER_RESOURCES = new Set(['cpu', 'memory', 'ephemeral-storage'])
const STANDARD_RESOURCES = new Set([
  ...STANDARD_CONTAINER_RESOURCES,
  'requests.cpu',
  'requests.memory',
  'requests.ephemeral-storage',
  'limits.cpu',
  'limits.memory',
  'limits.ephemeral-storage',
  'pods',
  'resourcequotas',
  'services',
  'replicationcontrollers',
  'secrets',
  'configmaps',
  'persistentvolumeclaims',
  'storage',
  'requests.storage',
  'services.nodeports',
  'services.loadbalancers',
])
const INTEGER_RESOURCES = new Set([
  'pods',
  'resourcequotas',
  'services',
  'replicationcontrollers',
  'secrets',
  'configmaps',
  'persistentvolumeclaims',
  'services.nodeports',
  'services.loadbalancers',
])
const POD_LEVEL_RESOURCES = ['cpu', 'hugepages-', 'memory']

export const isHugePageResource = (name: string) => name.startsWith('hugepages-')
/** Names without a domain, or with Kubernetes' own, are the system's. */
export const isNativeResource = (name: string) => !name.includes('/') || name.includes('kubernetes.io/')
export const isOvercommitAllowed = (name: string) => isNativeResource(name) && !isHugePageResource(name)
export const isPodLevelResource = (name: string) => name === 'cpu' || name === 'memory' || isHugePageResource(name)
/** Counted in whole pieces: object counts and extended resources. */
export const isIntegerResource = (name: string) => INTEGER_RESOURCES.has(name) || isExtendedResource(name)

export function isExtendedResource(name: string): boolean {
  if (isNativeResource(name) || name.startsWith('requests.')) return false
  return isQualifiedName(`requests.${name}`).length === 0
}

function checkResourceName(name: string, path: FieldPath, errors: FieldError[]): void {
  for (const message of isQualifiedName(name)) errors.push(invalid(path, name, message))
  if (!name.includes('/') && !STANDARD_RESOURCES.has(name) && !isHugePageResource(name))
    errors.push(invalid(path, name, 'must be a standard resource type or fully qualified'))
}

export function checkContainerResourceName(name: string, path: FieldPath, errors: FieldError[]): void {
  if (STANDARD_CONTAINER_RESOURCES.has(name)) return
  checkResourceName(name, path, errors)
  if (!name.includes('/')) {
    if (!isHugePageResource(name)) errors.push(invalid(path, name, 'must be a standard resource for containers'))
  } else if (!isNativeResource(name) && !isExtendedResource(name)) {
    errors.push(invalid(path, name, "doesn't follow extended resource name standard"))
  }
}

export function checkPodResourceName(name: string, path: FieldPath, errors: FieldError[]): void {
  const before = errors.length
  checkResourceName(name, path, errors)
  if (errors.length === before && !isPodLevelResource(name)) errors.push(notSupported(path, name, POD_LEVEL_RESOURCES))
}
