import type { Service } from '../../api/generated/core-v1.ts'
import type { EndpointSlice } from '../../api/generated/discovery-v1.ts'
import type { ObjectMeta } from '../../api/meta/object.ts'
import { ANNOTATION, LABEL } from '../../api/meta/well-known.ts'
import { deepEqual } from '../../base/deep-equal.ts'
import { isHeadless } from './service-pods.ts'

export const SERVICE_NAME_LABEL = LABEL.serviceName
export const MANAGED_BY_LABEL = LABEL.sliceManagedBy
export const HEADLESS_LABEL = LABEL.headless
export const TRIGGER_TIME_ANNOTATION = ANNOTATION.lastChangeTriggerTime
export const CONTROLLER_NAME = 'endpointslice-controller.k8s.io'

const RESERVED: ReadonlySet<string> = new Set([SERVICE_NAME_LABEL, MANAGED_BY_LABEL, HEADLESS_LABEL])
/** A generated name may have 63 characters here, of which five are random. */
const MAX_PREFIX = 63

/** The Service's own labels, and those that only the controller may set. */
export function sliceLabels(service: Service): Record<string, string> {
  const labels: Record<string, string> = {}
  for (const [key, value] of Object.entries(service.metadata.labels ?? {})) if (!RESERVED.has(key)) labels[key] = value
  if (isHeadless(service)) labels[HEADLESS_LABEL] = ''
  labels[SERVICE_NAME_LABEL] = service.metadata.name ?? ''
  labels[MANAGED_BY_LABEL] = CONTROLLER_NAME
  return labels
}

export const hasRightLabels = (slice: EndpointSlice, service: Service) =>
  deepEqual(slice.metadata.labels, sliceLabels(service))

export function isOwnedBy(slice: EndpointSlice, service: Service): boolean {
  return slice.metadata.ownerReferences?.some(({ uid }) => uid === service.metadata.uid) ?? false
}

export function newSliceMetadata(service: Service, triggerTime: string | undefined): ObjectMeta {
  const { namespace, name = '', uid = '' } = service.metadata
  return {
    ...(namespace && { namespace }),
    generateName: generateNameOf(name),
    labels: sliceLabels(service),
    annotations: triggerTime === undefined ? {} : { [TRIGGER_TIME_ANNOTATION]: triggerTime },
    ownerReferences: [{ apiVersion: 'v1', kind: 'Service', name, uid, controller: true, blockOwnerDeletion: true }],
  }
}

export function updatedSliceMetadata(
  metadata: ObjectMeta,
  service: Service,
  triggerTime: string | undefined,
): ObjectMeta {
  const { [TRIGGER_TIME_ANNOTATION]: _, ...annotations } = metadata.annotations ?? {}
  if (triggerTime !== undefined) annotations[TRIGGER_TIME_ANNOTATION] = triggerTime
  return { ...metadata, labels: sliceLabels(service), annotations }
}

export const generateNameOf = (service: string) => (service.length < MAX_PREFIX ? `${service}-` : service)
