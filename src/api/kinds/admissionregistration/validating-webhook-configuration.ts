import { deepEqual } from '../../../base/deep-equal.ts'
import type { ValidatingWebhookConfiguration } from '../../generated/admissionregistration-v1.ts'
import { defineKind } from '../../kind.ts'
import { ageColumn, column, nameColumn } from '../core/printed-columns.ts'
import { defaultWebhooks, validateWebhooks } from './webhooks.ts'

export const validatingWebhookConfigurationKind = defineKind<ValidatingWebhookConfiguration>({
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  kind: 'ValidatingWebhookConfiguration',
  plural: 'validatingwebhookconfigurations',
  categories: ['api-extensions'],
  namespaced: false,
  schema: 'io.k8s.api.admissionregistration.v1.ValidatingWebhookConfiguration',
  unconditionalUpdate: false,
  defaults: (draft) => defaultWebhooks(draft.webhooks),
  prepareCreate: (draft) => {
    draft.metadata.generation = 1
  },
  prepareUpdate,
  validate: (configuration) => validateWebhooks(configuration.webhooks),
  columns: [
    nameColumn,
    column<ValidatingWebhookConfiguration>(
      'Webhooks',
      'How many webhooks are called.',
      (configuration) => configuration.webhooks?.length ?? 0,
      'integer',
    ),
    ageColumn,
  ],
})

function prepareUpdate(draft: ValidatingWebhookConfiguration, old: ValidatingWebhookConfiguration): void {
  const changed = !deepEqual(draft.webhooks, old.webhooks)
  draft.metadata.generation = (old.metadata.generation ?? 0) + (changed ? 1 : 0)
}
