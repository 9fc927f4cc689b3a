import { deepEqual } from '../../../base/deep-equal.ts'
import type { ControllerRevision } from '../../generated/apps-v1.ts'
import { defineKind } from '../../kind.ts'
import { type FieldError, invalid, required } from '../../meta/field-error.ts'
import { FieldPath } from '../../meta/field-path.ts'
import { type OwnerReference, parseApiVersion } from '../../meta/object.ts'
import { NOT_NEGATIVE } from '../core/pod/pod-check.ts'
import { ageColumn, column, nameColumn } from '../core/printed-columns.ts'

const DATA = FieldPath.root('data')

/** A state that a StatefulSet or DaemonSet once had. It never changes. */
export const controllerRevisionKind = defineKind<ControllerRevision>({
  group: 'apps',
  version: 'v1',
  kind: 'ControllerRevision',
  plural: 'controllerrevisions',
  schema: 'io.k8s.api.apps.v1.ControllerRevision',
  defaults(draft) {
    draft.revision ??= 0
  },
  validate(revision) {
    const errors: FieldError[] = []
    if (revision.revision < 0) errors.push(invalid(FieldPath.root('revision'), revision.revision, NOT_NEGATIVE))
    const { data } = revision
    if (data === undefined || data === null) errors.push(required(DATA, 'data is mandatory'))
    else if (typeof data !== 'object' || Array.isArray(data))
      errors.push(required(DATA, 'data must be a valid JSON object'))
    return errors
  },
  validateUpdate(revision, old) {
    return deepEqual(revision.data, old.data) ? [] : [invalid(DATA, revision.data, 'field is immutable')]
  },
  columns: [
    nameColumn,
    column('Controller', 'What this is a revision of.', (object) => {
      const owner = object.metadata.ownerReferences?.find((reference) => reference.controller)
      return owner ? ownerText(owner) : '<none>'
    }),
    column('Revision', 'Its number, growing with time.', (object) => object.revision ?? 0),
    ageColumn,
  ],
})

function ownerText(owner: OwnerReference): string {
  const { group } = parseApiVersion(owner.apiVersion ?? '')
  return `${(owner.kind ?? '').toLowerCase()}${group && `.${group}`}/${owner.name}`
}
