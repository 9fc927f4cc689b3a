import { deepEqual } from '../../../base/deep-equal.ts'
import type { ClusterRoleBinding, RoleBinding, Subject } from '../../generated/rbac-v1.ts'
import type { Column } from '../../kind.ts'
import { type FieldError, invalid, notSupported, required } from '../../meta/field-error.ts'
import { FieldPath } from '../../meta/field-path.ts'
import { isPathSegmentName, nameIsDnsSubdomain } from '../../meta/names.ts'
import { ageColumn, column, nameColumn, wideColumn } from '../core/printed-columns.ts'

/** What RoleBinding and ClusterRoleBinding share: who gets which role. */
type Binding = RoleBinding | ClusterRoleBinding

const RBAC_GROUP = 'rbac.authorization.k8s.io'
const ROLE_REF = FieldPath.root('roleRef')
const SUBJECTS = FieldPath.root('subjects')

export function bindingDefaults(draft: Binding): void {
  if (draft.roleRef) draft.roleRef.apiGroup ||= RBAC_GROUP
  for (const subject of draft.subjects ?? []) {
    if (subject.apiGroup) continue
    if (subject.kind === 'User' || subject.kind === 'Group') subject.apiGroup = RBAC_GROUP
    else if (subject.kind === 'ServiceAccount') delete subject.apiGroup
  }
}

export function validateBinding(binding: Binding, roleKinds: readonly string[], namespaced: boolean): FieldError[] {
  const { apiGroup = '', kind = '', name = '' } = binding.roleRef ?? {}
  const errors: FieldError[] = []
  if (apiGroup !== RBAC_GROUP) errors.push(notSupported(ROLE_REF.child('apiGroup'), apiGroup, [RBAC_GROUP]))
  if (!roleKinds.includes(kind)) errors.push(notSupported(ROLE_REF.child('kind'), kind, roleKinds))
  if (name === '') errors.push(required(ROLE_REF.child('name')))
  else for (const message of isPathSegmentName(name, false)) errors.push(invalid(ROLE_REF.child('name'), name, message))
  binding.subjects?.forEach((subject, index) => {
    errors.push(...validateSubject(subject, namespaced, SUBJECTS.index(index)))
  })
  return errors
}

function validateSubject(subject: Subject, namespaced: boolean, path: FieldPath): FieldError[] {
  const { kind = '', name = '', namespace = '', apiGroup = '' } = subject
  const errors: FieldError[] = name === '' ? [required(path.child('name'))] : []
  switch (kind) {
    case 'ServiceAccount':
      if (name !== '')
        for (const message of nameIsDnsSubdomain(name, false)) errors.push(invalid(path.child('name'), name, message))
      if (apiGroup !== '') errors.push(notSupported(path.child('apiGroup'), apiGroup, ['']))
      if (!namespaced && namespace === '') errors.push(required(path.child('namespace')))
      return errors
    case 'User':
    case 'Group':
      if (apiGroup !== RBAC_GROUP) errors.push(notSupported(path.child('apiGroup'), apiGroup, [RBAC_GROUP]))
      return errors
    default:
      return [...errors, notSupported(path.child('kind'), kind, ['ServiceAccount', 'User', 'Group'])]
  }
}

/** Who may edit subjects must not be able to raise the role, so the role is fixed. */
export function validateBindingUpdate(binding: Binding, old: Binding): FieldError[] {
  return deepEqual(binding.roleRef, old.roleRef) ? [] : [invalid(ROLE_REF, binding.roleRef, 'cannot change roleRef')]
}

export function bindingColumns(): Column<Binding>[] {
  const subjects = (kindOfSubject: string) => (binding: Binding) =>
    (binding.subjects ?? [])
      .filter((subject) => subject.kind === kindOfSubject)
      .map(({ name, namespace }) =>
        kindOfSubject === 'ServiceAccount' && namespace ? `${namespace}/${name}` : (name ?? ''),
      )
      .join(', ')
  return [
    nameColumn,
    column<Binding>(
      'Role',
      'The role that is granted.',
      ({ roleRef }) => `${roleRef?.kind ?? ''}/${roleRef?.name ?? ''}`,
    ),
    ageColumn,
    wideColumn<Binding>('Users', 'Users who get the role.', subjects('User')),
    wideColumn<Binding>('Groups', 'Groups that get the role.', subjects('Group')),
    wideColumn<Binding>('ServiceAccounts', 'Service accounts that get the role.', subjects('ServiceAccount')),
  ]
}
