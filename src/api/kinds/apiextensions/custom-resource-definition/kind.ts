import type { CustomResourceDefinition } from '../../../generated/apiextensions-v1.ts'
import { defineKind } from '../../../kind.ts'
import { withCondition } from '../../../meta/conditions.ts'
import { prepareUpdateWithStatus, statusSubresource } from '../../../strategy.ts'
import { defaultWebhookClient } from '../../admissionregistration/webhook-client.ts'
import { isSchema } from './schema-tree.ts'
import { validateDefinitionUpdate, validateStoredVersions } from './update-validation.ts'
import { validateDefinition } from './validation.ts'

export const CLEANUP_FINALIZER = 'customresourcecleanup.apiextensions.k8s.io'

export const customResourceDefinitionKind = defineKind<CustomResourceDefinition>({
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  shortNames: ['crd', 'crds'],
  categories: ['api-extensions'],
  namespaced: false,
  schema: 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition',
  unconditionalUpdate: false,
  defaults,
  prepareCreate: (draft) => {
    draft.metadata.generation = 1
    draft.status = {}
    storeNewVersion(draft)
  },
  prepareUpdate: (draft, old) => {
    prepareUpdateWithStatus(draft, old)
    storeNewVersion(draft)
  },
  beginDeletion,
  validate: validateDefinition,
  validateUpdate: validateDefinitionUpdate,
  subresources: { status: statusSubresource<CustomResourceDefinition>({ validateUpdate: validateStoredVersions }) },
})

function defaults({ spec }: CustomResourceDefinition): void {
  if (!spec) return
  if (spec.names?.kind) {
    spec.names.singular ||= spec.names.kind.toLowerCase()
    spec.names.listKind ||= `${spec.names.kind}List`
  }
  for (const { schema } of spec.versions ?? []) dropEmptyFields(schema?.openAPIV3Schema)
  spec.conversion ??= { strategy: 'None' }
  defaultWebhookClient(spec.conversion.webhook?.clientConfig)
}

/** `properties: {}` says no more than nothing, and is not kept: some generators write it beside additionalProperties. */
function dropEmptyFields(schema: unknown): void {
  if (!isSchema(schema)) return
  const { properties, items, additionalProperties } = schema
  if (isSchema(properties) && Object.keys(properties).length === 0) delete schema.properties
  for (const field of Object.values(schema.properties ?? {})) dropEmptyFields(field)
  dropEmptyFields(items)
  dropEmptyFields(additionalProperties)
}

/** A definition goes only after all that it defined. */
function beginDeletion(draft: CustomResourceDefinition): void {
  const { finalizers = [] } = draft.metadata
  if (!finalizers.includes(CLEANUP_FINALIZER)) draft.metadata.finalizers = [...finalizers, CLEANUP_FINALIZER]
  const condition = {
    type: 'Terminating',
    status: 'True',
    reason: 'InstanceDeletionPending',
    message: 'CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon',
  }
  const now = draft.metadata.deletionTimestamp ?? ''
  draft.status = { ...draft.status, conditions: [...withCondition(draft.status?.conditions, condition, now)] }
}

/** Whatever version was ever stored is remembered until someone has migrated its objects. */
function storeNewVersion(draft: CustomResourceDefinition): void {
  const storage = draft.spec?.versions?.find((version) => version.storage)?.name
  const stored = draft.status?.storedVersions ?? []
  if (storage !== undefined && !stored.includes(storage))
    draft.status = { ...draft.status, storedVersions: [...stored, storage] }
}
