import { deepEqual } from '../../../base/deep-equal.ts'
import type { PodTemplate } from '../../generated/core-v1.ts'
import { defineKind } from '../../kind.ts'
import type { FieldError } from '../../meta/field-error.ts'
import { FieldPath } from '../../meta/field-path.ts'
import { labelsText } from '../apps/workload-columns.ts'
import { podTemplateDefaults } from './pod/defaults.ts'
import { validatePodTemplate } from './pod/validation.ts'
import { podTemplateWarnings } from './pod/warnings.ts'
import { column, nameColumn } from './printed-columns.ts'

const TEMPLATE = FieldPath.root('template')

export const podTemplateKind = defineKind<PodTemplate>({
  group: '',
  version: 'v1',
  kind: 'PodTemplate',
  plural: 'podtemplates',
  schema: 'io.k8s.api.core.v1.PodTemplate',
  defaults: podTemplateDefaults,
  prepareCreate(draft) {
    draft.metadata.generation = 1
  },
  prepareUpdate(draft, old) {
    const generation = old.metadata.generation ?? 1
    draft.metadata.generation = deepEqual(draft.template, old.template) ? generation : generation + 1
  },
  validate(object) {
    const errors: FieldError[] = []
    validatePodTemplate(object.template, TEMPLATE, errors)
    return errors
  },
  warnings: (object) => podTemplateWarnings(object.template, 'template'),
  columns: [
    nameColumn,
    column('Containers', 'Names of the containers of each pod.', (object) =>
      (object.template?.spec?.containers ?? []).map((container) => container.name).join(','),
    ),
    column('Images', 'Images of the containers of each pod.', (object) =>
      (object.template?.spec?.containers ?? []).map((container) => container.image ?? '').join(','),
    ),
    column('Pod Labels', 'Labels of each pod.', (object) => labelsText(object.template?.metadata?.labels)),
  ],
})
