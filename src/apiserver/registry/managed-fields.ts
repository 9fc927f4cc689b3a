import type { Kind } from '../../api/kind.ts'
import { apiVersionOf, type FieldsV1, type KubernetesObject } from '../../api/meta/object.ts'
import { manageFields } from '../../patch/manage-fields.ts'
import type { ResourceRequest } from '../request/resource-request.ts'
import type { WriteOptions } from './write-options.ts'

export interface FieldRecord {
  readonly draft: KubernetesObject
  readonly old: KubernetesObject | undefined
  readonly kind: Kind
  readonly request: ResourceRequest
  readonly options: WriteOptions
  readonly now: number
}

/** Notes in metadata.managedFields who set what. An apply has done so already. */
export function recordFields({ draft, old, kind, request, options, now }: FieldRecord): void {
  if (request.patchType === 'application/apply-patch+yaml') return
  const reset = resetFields(kind, request.subresource)
  manageFields({
    draft,
    old,
    manager: options.fieldManager,
    apiVersion: apiVersionOf(kind),
    subresource: request.subresource,
    now,
    schema: kind.schema,
    ...(reset && { reset }),
  })
}

const STATUS: FieldsV1 = { 'f:status': {} }
const ALL_BUT_STATUS: FieldsV1 = { 'f:spec': {}, 'f:metadata': { 'f:labels': {}, 'f:ownerReferences': {} } }

/** What a request through this door cannot set, and so never owns. */
export function resetFields(kind: Kind, subresource: string): FieldsV1 | undefined {
  if (subresource === 'status') return ALL_BUT_STATUS
  return subresource === '' && kind.subresources.status ? STATUS : undefined
}
