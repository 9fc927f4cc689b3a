import type { Service } from '../../../generated/core-v1.ts'
import { defineKind } from '../../../kind.ts'
import { nameIsDnsLabel } from '../../../meta/names.ts'
import { keepField, statusSubresource } from '../../../strategy.ts'
import { serviceColumns } from './columns.ts'
import { serviceDefaults } from './defaults.ts'
import { validateServiceStatus } from './load-balancer-validation.ts'
import { specOf } from './service-type.ts'
import { prepareServiceCreate, prepareServiceUpdate } from './update.ts'
import { validateService, validateServiceUpdate } from './validation.ts'
import { serviceWarnings } from './warnings.ts'

export const serviceKind = defineKind<Service>({
  group: '',
  version: 'v1',
  kind: 'Service',
  plural: 'services',
  shortNames: ['svc'],
  categories: ['all'],
  schema: 'io.k8s.api.core.v1.Service',
  defaults: serviceDefaults,
  validateName: nameIsDnsLabel,
  prepareCreate: prepareServiceCreate,
  prepareUpdate: prepareServiceUpdate,
  validate: validateService,
  validateUpdate: validateServiceUpdate,
  warnings: serviceWarnings,
  selectableFields: {
    'spec.clusterIP': (service) => specOf(service).clusterIP ?? '',
    'spec.type': (service) => specOf(service).type ?? '',
  },
  columns: serviceColumns,
  createOnUpdate: true,
  subresources: {
    status: statusSubresource<Service>({
      prepareUpdate: (draft, old) => keepField(draft, old, 'spec'),
      validateUpdate: validateServiceStatus,
    }),
    proxy: {
      type: 'action',
      verbs: ['create', 'delete', 'get', 'patch', 'update'],
      group: '',
      version: 'v1',
      kind: 'ServiceProxyOptions',
    },
  },
})
