import type { Ingress } from '../../../generated/networking-v1.ts'
import { defineKind } from '../../../kind.ts'
import { keepField, prepareCreateWithStatus, prepareUpdateWithStatus, statusSubresource } from '../../../strategy.ts'
import { ingressColumns } from './columns.ts'
import { INGRESS_CLASS_ANNOTATION, validateIngress, validateIngressStatus } from './validation.ts'

export const ingressKind = defineKind<Ingress>({
  group: 'networking.k8s.io',
  version: 'v1',
  kind: 'Ingress',
  plural: 'ingresses',
  shortNames: ['ing'],
  schema: 'io.k8s.api.networking.v1.Ingress',
  prepareCreate: prepareCreateWithStatus,
  prepareUpdate: prepareUpdateWithStatus,
  validate: validateIngress,
  warnings(ingress, old) {
    const annotated = ingress.metadata.annotations?.[INGRESS_CLASS_ANNOTATION] !== undefined
    if (old !== undefined || !annotated || ingress.spec?.ingressClassName !== undefined) return []
    return [`annotation "${INGRESS_CLASS_ANNOTATION}" is deprecated, please use 'spec.ingressClassName' instead`]
  },
  columns: ingressColumns,
  subresources: {
    status: statusSubresource<Ingress>({
      prepareUpdate: (draft, old) => keepField(draft, old, 'spec'),
      validateUpdate: validateIngressStatus,
    }),
  },
})
