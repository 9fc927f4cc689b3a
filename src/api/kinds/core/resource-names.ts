import { type FieldError, invalid, notSupported } from '../../meta/field-error.ts'
import type { FieldPath } from '../../meta/field-path.ts'
import { isQualifiedName } from '../../meta/names.ts'

/** Names of resources: plain ones are known to the system, all others carry a domain (`example.com/gpu`). */

const CONTAINER = ['cpu', 'memory', 'ephemeral-storage']
const COUNTED = [
  'pods',
  'resourcequotas',
  'services',
  'replicationcontrollers',
  'secrets',
  'configmaps',
  'persistentvolumeclaims',
  'services.nodeports',
  'services.loadbalancers',
]
const QUOTA = [
  ...CONTAINER,
  'requests.cpu',
  'requests.memory',
  'requests.storage',
  'requests.ephemeral-storage',
  'limits.cpu',
  'limits.memory',
  'limits.ephemeral-storage',
  ...COUNTED,
]
const containerResources = new Set(CONTAINER)
const integerResources = new Set(COUNTED)
const quotaResources = new Set(QUOTA)
const standardResources = new Set([...QUOTA, 'storage'])

const POD_LEVEL = ['cpu', 'hugepages-', 'memory']

export const isHugePages = (name: string) => name.startsWith('hugepages-')
const isNative = (name: string) => !name.includes('/') || name.includes('kubernetes.io/')
const isExtended = (name: string) =>
  !isNative(name) && !name.startsWith('requests.') && isQualifiedName(`requests.${name}`).length === 0
export const isPodLevelResource = (name: string) => name === 'cpu' || name === 'memory' || isHugePages(name)

export const isStandardQuotaResource = (name: string) =>
  quotaResources.has(name) || isHugePages(name) || name.startsWith('requests.hugepages-')
/** Things that are counted, which cannot be had in fractions. */
export const isCountedWhole = (name: string) => integerResources.has(name) || isExtended(name)
/** May the limit be higher than the request? */
export const mayExceedRequest = (name: string) => isNative(name) && !isHugePages(name)

export function validateResourceName(name: string, path: FieldPath): FieldError[] {
  const malformed = isQualifiedName(name)
  if (malformed.length > 0) return malformed.map((message) => invalid(path, name, message))
  const known = name.includes('/') || standardResources.has(name) || isStandardQuotaResource(name)
  return known ? [] : [invalid(path, name, 'must be a standard resource type or fully qualified')]
}

export function validateQuotaResourceName(name: string, path: FieldPath): FieldError[] {
  const errors = validateResourceName(name, path)
  if (!name.includes('/') && !isStandardQuotaResource(name))
    errors.push(invalid(path, name, 'must be a standard resource for quota'))
  return errors
}

export function validateContainerResourceName(name: string, path: FieldPath): FieldError[] {
  if (containerResources.has(name)) return []
  const errors = validateResourceName(name, path)
  if (!name.includes('/')) {
    if (!isHugePages(name)) errors.push(invalid(path, name, 'must be a standard resource for containers'))
  } else if (!isNative(name) && !isExtended(name))
    errors.push(invalid(path, name, "doesn't follow extended resource name standard"))
  return errors
}

/** Only some resources can be asked for by the pod as a whole. */
export function validatePodResourceName(name: string, path: FieldPath): FieldError[] {
  const errors = validateResourceName(name, path)
  return errors.length > 0 || isPodLevelResource(name) ? errors : [notSupported(path, name, POD_LEVEL)]
}
