import type { Kind } from '../../api/kind.ts'
import {
  checkFieldSelector,
  matchesFields,
  parseFieldSelector,
  requiredFieldValue,
} from '../../api/meta/field-selector.ts'
import { matchesLabels, selectsEverything } from '../../api/meta/label-selector.ts'
import { parseLabelSelector } from '../../api/meta/label-selector-parser.ts'
import type { KubernetesObject } from '../../api/meta/object.ts'
import { inVersion } from '../objects/representation.ts'
import { readNow, type StoredForm } from '../objects/stored-form.ts'
import type { CachedObject } from '../watch-cache/cached-object.ts'
import { objectKey } from '../watch-cache/storage-key.ts'
import type { ObjectFilter } from '../watch-cache/watcher.ts'

/** Turns scope and selectors of a list or watch into a filter over stored objects. */
export function objectFilter(
  kind: Kind,
  prefix: string,
  form: StoredForm | undefined,
  scope: { namespace: string; name: string; labelSelector: string; fieldSelector: string },
): ObjectFilter {
  const labels = parseLabelSelector(scope.labelSelector)
  let fields = parseFieldSelector(scope.fieldSelector)
  checkFieldSelector(fields, new Set(Object.keys(kind.selectableFields)))
  const name = scope.name || requiredFieldValue(fields, 'metadata.name')
  const namespace = scope.namespace || requiredFieldValue(fields, 'metadata.namespace') || ''
  const exactKey = Boolean(name) && (!kind.namespaced || namespace !== '')
  // What the key already says need not be read from every object.
  if (exactKey)
    fields = fields.filter(
      ({ field, operator, value }) => !(field === 'metadata.name' && operator === '=' && value === name),
    )
  if (namespace) fields = fields.filter(({ field, value }) => !(field === 'metadata.namespace' && value === namespace))
  const keyPrefix = exactKey
    ? objectKey(prefix, kind.namespaced, namespace, name!)
    : kind.namespaced && namespace !== ''
      ? `${prefix}${namespace}/`
      : prefix
  const byLabels = !selectsEverything(labels)
  const matches =
    byLabels || fields.length > 0
      ? (object: CachedObject) =>
          (!byLabels || matchesLabels(labels, object.labels)) &&
          (fields.length === 0 || matchesFields(fields, fieldReader(kind, form, object)))
      : undefined
  return {
    id: `${kind.version}|${form?.id ?? ''}|${keyPrefix}|${scope.labelSelector}|${scope.fieldSelector}|${scope.name}`,
    keyPrefix,
    exactKey,
    matches,
    readsFields: fields.length > 0,
  }
}

function fieldReader(kind: Kind, form: StoredForm | undefined, cached: CachedObject): (field: string) => string {
  const object: KubernetesObject = inVersion(kind, readNow(form, cached)).object
  return (field) => {
    if (field === 'metadata.name') return object.metadata.name ?? ''
    if (field === 'metadata.namespace') return object.metadata.namespace ?? ''
    return kind.selectableFields[field]?.(object) ?? ''
  }
}
