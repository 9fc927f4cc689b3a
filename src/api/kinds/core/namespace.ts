import type { Namespace } from '../../generated/core-v1.ts'
import { defineKind } from '../../kind.ts'
import { type FieldError, invalid } from '../../meta/field-error.ts'
import { FieldPath } from '../../meta/field-path.ts'
import { isQualifiedName, nameIsDnsLabel } from '../../meta/names.ts'
import { keepField, statusSubresource } from '../../strategy.ts'
import { ageColumn, column, nameColumn } from './printed-columns.ts'

const NAME_LABEL = 'kubernetes.io/metadata.name'
const STANDARD_FINALIZERS = new Set(['kubernetes', 'orphan', 'foregroundDeletion'])
const FINALIZERS = FieldPath.root('spec').child('finalizers')
const PHASE = FieldPath.root('status').child('Phase')

export const namespaceKind = defineKind<Namespace>({
  group: '',
  version: 'v1',
  kind: 'Namespace',
  plural: 'namespaces',
  shortNames: ['ns'],
  namespaced: false,
  verbs: ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'],
  schema: 'io.k8s.api.core.v1.Namespace',
  validateName: nameIsDnsLabel,
  defaults,
  prepareCreate,
  prepareUpdate,
  beginDeletion: (draft) => {
    draft.status = { ...draft.status, phase: 'Terminating' }
  },
  isHeld: ({ spec }) => (spec?.finalizers?.length ?? 0) > 0,
  selectableFields: { 'status.phase': (namespace) => namespace.status?.phase ?? '' },
  columns: [
    nameColumn,
    column<Namespace>('Status', 'Active, or on its way out.', (namespace) => namespace.status?.phase ?? ''),
    ageColumn,
  ],
  subresources: {
    status: statusSubresource<Namespace>({ validateUpdate: validatePhase }),
    finalize: {
      type: 'part',
      verbs: ['update'],
      prepareUpdate: (draft, old) => keepField(draft, old, 'status'),
      validateUpdate: validateFinalizers,
    },
  },
})

/** Selectors of policies reach a namespace by its name through this label, so nobody may forge it. */
function defaults(draft: Namespace): void {
  const { metadata } = draft
  if (metadata.name) metadata.labels = { ...metadata.labels, [NAME_LABEL]: metadata.name }
}

/** The finalizer keeps a namespace until everything in it is gone. */
function prepareCreate(draft: Namespace): void {
  const finalizers = draft.spec?.finalizers ?? []
  draft.spec = { finalizers: finalizers.includes('kubernetes') ? finalizers : [...finalizers, 'kubernetes'] }
  draft.status = { phase: 'Active' }
}

/** Finalizers change only through `finalize`. */
function prepareUpdate(draft: Namespace, old: Namespace): void {
  keepField(draft, old, 'spec')
  keepField(draft, old, 'status')
}

function validatePhase(namespace: Namespace): FieldError[] {
  const phase = namespace.status?.phase ?? ''
  if (namespace.metadata.deletionTimestamp === undefined)
    return phase === 'Active' ? [] : [invalid(PHASE, phase, "may only be 'Active' if `deletionTimestamp` is empty")]
  return phase === 'Terminating'
    ? []
    : [invalid(PHASE, phase, "may only be 'Terminating' if `deletionTimestamp` is not empty")]
}

function validateFinalizers(namespace: Namespace): FieldError[] {
  return (namespace.spec?.finalizers ?? []).flatMap((name, index) => {
    const messages = isQualifiedName(name)
    if (!name.includes('/') && !STANDARD_FINALIZERS.has(name))
      messages.push('name is neither a standard finalizer name nor is it fully qualified')
    return messages.map((message) => invalid(FINALIZERS.index(index), name, message))
  })
}
