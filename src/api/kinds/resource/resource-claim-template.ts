import type { ResourceClaimTemplate } from '../../generated/resource-v1.ts'
import { defineKind } from '../../kind.ts'
import type { FieldError } from '../../meta/field-error.ts'
import { FieldPath } from '../../meta/field-path.ts'
import { validateLabels } from '../../meta/labels-validation.ts'
import { validateAnnotations } from '../../meta/object-meta-validation.ts'
import { immutable } from '../core/immutable.ts'
import { ageColumn, nameColumn } from '../core/printed-columns.ts'
import { defaultDeviceClaim, validateDeviceClaim } from './device-claim.ts'

const SPEC = FieldPath.root('spec')

export const resourceClaimTemplateKind = defineKind<ResourceClaimTemplate>({
  group: 'resource.k8s.io',
  version: 'v1',
  kind: 'ResourceClaimTemplate',
  plural: 'resourceclaimtemplates',
  schema: 'io.k8s.api.resource.v1.ResourceClaimTemplate',
  defaults: ({ spec }) => defaultDeviceClaim(spec?.spec?.devices),
  validate,
  validateUpdate: (template, old) => immutable(SPEC, template.spec, old.spec),
  columns: [nameColumn, ageColumn],
})

function validate({ spec }: ResourceClaimTemplate): FieldError[] {
  const path = SPEC.child('metadata')
  return [
    ...validateLabels(spec?.metadata?.labels, path.child('labels')),
    ...validateAnnotations(spec?.metadata?.annotations, path.child('annotations')),
    ...validateDeviceClaim(spec?.spec?.devices, SPEC.child('spec', 'devices')),
  ]
}
