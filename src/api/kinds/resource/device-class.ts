import type { DeviceClass } from '../../generated/resource-v1.ts'
import { defineKind } from '../../kind.ts'
import type { FieldError } from '../../meta/field-error.ts'
import { FieldPath } from '../../meta/field-path.ts'
import { raiseGeneration } from '../../strategy.ts'
import { ageColumn, nameColumn } from '../core/printed-columns.ts'
import { validateOpaque, validateSelectors } from './device-claim.ts'

const SPEC = FieldPath.root('spec')

export const deviceClassKind = defineKind<DeviceClass>({
  group: 'resource.k8s.io',
  version: 'v1',
  kind: 'DeviceClass',
  plural: 'deviceclasses',
  namespaced: false,
  schema: 'io.k8s.api.resource.v1.DeviceClass',
  prepareCreate: (draft) => {
    draft.metadata.generation = 1
  },
  prepareUpdate: raiseGeneration,
  validate,
  columns: [nameColumn, ageColumn],
})

function validate({ spec }: DeviceClass): FieldError[] {
  const errors = validateSelectors(spec?.selectors ?? [], SPEC.child('selectors'))
  spec?.config?.forEach(({ opaque }, index) => {
    errors.push(...validateOpaque(opaque, SPEC.child('config').index(index).child('opaque')))
  })
  return errors
}
