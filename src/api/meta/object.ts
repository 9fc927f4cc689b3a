/** What every object carries. Field names and meanings are those of the Kubernetes API. */
export interface ObjectMeta {
  name?: string
  generateName?: string
  namespace?: string
  uid?: string
  resourceVersion?: string
  generation?: number
  creationTimestamp?: string
  deletionTimestamp?: string
  deletionGracePeriodSeconds?: number
  labels?: Record<string, string>
  annotations?: Record<string, string>
  ownerReferences?: OwnerReference[]
  finalizers?: string[]
  managedFields?: ManagedFieldsEntry[]
  selfLink?: string
}

export interface OwnerReference {
  apiVersion: string
  kind: string
  name: string
  uid: string
  controller?: boolean
  blockOwnerDeletion?: boolean
}

export interface ManagedFieldsEntry {
  manager?: string
  operation?: 'Apply' | 'Update'
  apiVersion?: string
  time?: string
  fieldsType?: 'FieldsV1'
  fieldsV1?: FieldsV1
  subresource?: string
}

/** A set of fields as a tree: `f:name`, `k:{"key":"value"}`, `v:value`, `i:index`, and `.` for the item itself. */
export interface FieldsV1 {
  [element: string]: FieldsV1
}

export interface KubernetesObject {
  apiVersion?: string
  kind?: string
  metadata: ObjectMeta
}

/** A JSON value as it comes from outside. */
export type Json = null | boolean | number | string | Json[] | JsonObject
export interface JsonObject {
  [field: string]: Json | undefined
}

export interface ListMeta {
  resourceVersion?: string
  continue?: string
  remainingItemCount?: number
}

export interface ObjectList<T> {
  apiVersion: string
  kind: string
  metadata: ListMeta
  items: T[]
}

/** `apiVersion` of a group and version; the core group has no name. */
export function apiVersionOf(gv: { group: string; version: string }): string {
  return gv.group === '' ? gv.version : `${gv.group}/${gv.version}`
}

export function parseApiVersion(apiVersion: string): { group: string; version: string } {
  const slash = apiVersion.indexOf('/')
  if (slash < 0) return { group: '', version: apiVersion }
  return { group: apiVersion.slice(0, slash), version: apiVersion.slice(slash + 1) }
}
