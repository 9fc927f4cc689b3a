import { deepEqual } from '../../../base/deep-equal.ts'
import type { MutatingWebhookConfiguration } from '../../generated/admissionregistration-v1.ts'
import { defineKind } from '../../kind.ts'
import type { FieldError } from '../../meta/field-error.ts'
import { FieldPath } from '../../meta/field-path.ts'
import { ageColumn, column, nameColumn } from '../core/printed-columns.ts'
import { defaultWebhooks, oneOf, validateWebhooks } from './webhooks.ts'

const WEBHOOKS = FieldPath.root('webhooks')
export const REINVOCATION_POLICIES = ['IfNeeded', 'Never']

export const mutatingWebhookConfigurationKind = defineKind<MutatingWebhookConfiguration>({
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  kind: 'MutatingWebhookConfiguration',
  plural: 'mutatingwebhookconfigurations',
  categories: ['api-extensions'],
  namespaced: false,
  schema: 'io.k8s.api.admissionregistration.v1.MutatingWebhookConfiguration',
  unconditionalUpdate: false,
  defaults,
  prepareCreate: (draft) => {
    draft.metadata.generation = 1
  },
  prepareUpdate,
  validate,
  columns: [
    nameColumn,
    column<MutatingWebhookConfiguration>(
      'Webhooks',
      'How many webhooks are called.',
      (configuration) => configuration.webhooks?.length ?? 0,
      'integer',
    ),
    ageColumn,
  ],
})

function prepareUpdate(draft: MutatingWebhookConfiguration, old: MutatingWebhookConfiguration): void {
  const changed = !deepEqual(draft.webhooks, old.webhooks)
  draft.metadata.generation = (old.metadata.generation ?? 0) + (changed ? 1 : 0)
}

function defaults(draft: MutatingWebhookConfiguration): void {
  defaultWebhooks(draft.webhooks)
  for (const webhook of draft.webhooks ?? []) webhook.reinvocationPolicy ??= 'Never'
}

function validate({ webhooks }: MutatingWebhookConfiguration): FieldError[] {
  const policies = (webhooks ?? []).flatMap((webhook, index) =>
    oneOf(webhook.reinvocationPolicy, REINVOCATION_POLICIES, WEBHOOKS.index(index).child('reinvocationPolicy')),
  )
  return [...validateWebhooks(webhooks), ...policies]
}
