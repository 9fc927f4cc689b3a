import type { Kind } from '../../api/kind.ts'
import type { KubernetesObject } from '../../api/meta/object.ts'
import { deepEqual } from '../../base/deep-equal.ts'
import type { ResourceRequest } from './request.ts'
import type { WriteOptions } from './write-options.ts'

export interface FieldRecord {
  readonly draft: KubernetesObject
  readonly old: KubernetesObject | undefined
  readonly kind: Kind
  readonly request: ResourceRequest
  readonly options: WriteOptions
  readonly now: number
}

/** Notes in metadata.managedFields who set what. */
export function recordFields(_record: FieldRecord): void {}

export const isUnchanged = (draft: KubernetesObject, old: KubernetesObject) => deepEqual(draft, old)
