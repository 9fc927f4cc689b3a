import type { Service } from '../../../api/generated/core-v1.ts'
import type { IPAddress as IPAddressObject } from '../../../api/generated/networking-v1.ts'
import type { FieldsV1 } from '../../../api/meta/object.ts'
import { formatTime } from '../../../api/meta/time.ts'
import { LABEL } from '../../../api/meta/well-known.ts'
import type { Clock } from '../../../base/clock.ts'
import { formatIP, type IPAddress } from '../../../base/ip-address.ts'
import type { Random } from '../../../base/random.ts'

export const FAMILY_LABEL = LABEL.ipFamily
export const MANAGED_BY_LABEL = LABEL.ipAddressManagedBy
export const ALLOCATOR_NAME = 'ipallocator.k8s.io'

const OWNED_FIELDS: FieldsV1 = {
  'f:metadata': { 'f:labels': { '.': {}, [`f:${FAMILY_LABEL}`]: {}, [`f:${MANAGED_BY_LABEL}`]: {} } },
  'f:spec': { 'f:parentRef': { '.': {}, 'f:name': {}, 'f:namespace': {}, 'f:resource': {} } },
}

/** The object that says whose an address is. */
export function newIPAddressObject(
  ip: IPAddress,
  service: Service,
  sources: { readonly clock: Clock; readonly random: Random },
): IPAddressObject {
  const time = formatTime(sources.clock.now())
  const { name = '', namespace = '' } = service.metadata
  return {
    kind: 'IPAddress',
    apiVersion: 'networking.k8s.io/v1',
    metadata: {
      name: formatIP(ip),
      uid: sources.random.uuid(),
      creationTimestamp: time,
      labels: { [FAMILY_LABEL]: ip.family, [MANAGED_BY_LABEL]: ALLOCATOR_NAME },
      managedFields: [
        {
          manager: 'kube-apiserver',
          operation: 'Update',
          apiVersion: 'networking.k8s.io/v1',
          time,
          fieldsType: 'FieldsV1',
          fieldsV1: OWNED_FIELDS,
        },
      ],
    },
    spec: { parentRef: { resource: 'services', namespace, name } },
  }
}

export function belongsTo(object: IPAddressObject, service: Service): boolean {
  const parent = object.spec?.parentRef
  return (
    parent !== undefined &&
    (parent.group ?? '') === '' &&
    parent.resource === 'services' &&
    parent.namespace === service.metadata.namespace &&
    parent.name === service.metadata.name
  )
}
