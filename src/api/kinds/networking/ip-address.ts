import { deepEqual } from '../../../base/deep-equal.ts'
import type { IPAddress, ParentReference } from '../../generated/networking-v1.ts'
import { defineKind } from '../../kind.ts'
import { type FieldError, invalid, required } from '../../meta/field-error.ts'
import { FieldPath } from '../../meta/field-path.ts'
import { canonicalIPMessages } from '../../meta/ip-validation.ts'
import { isDns1123Subdomain, isPathSegmentName } from '../../meta/names.ts'
import { ageColumn, column, nameColumn } from '../core/printed-columns.ts'
import { addInvalid } from '../core/service/port-validation.ts'
import { validateSegment } from './ingress/backend-validation.ts'

const PARENT_REF = FieldPath.root('spec').child('parentRef')

/** One address of the service network that is taken. Its name is the address. */
export const ipAddressKind = defineKind<IPAddress>({
  group: 'networking.k8s.io',
  version: 'v1',
  kind: 'IPAddress',
  plural: 'ipaddresses',
  namespaced: false,
  shortNames: ['ip'],
  schema: 'io.k8s.api.networking.v1.IPAddress',
  validateName: (name) => canonicalIPMessages(name),
  validate: (address) => validateParentRef(address.spec?.parentRef),
  validateUpdate(address, old) {
    if (deepEqual(address.spec?.parentRef, old.spec?.parentRef)) return []
    return [invalid(PARENT_REF, address.spec?.parentRef, 'field is immutable')]
  },
  columns: [
    nameColumn,
    column<IPAddress>('ParentRef', 'The object the address was given to.', (address) =>
      formatParent(address.spec?.parentRef),
    ),
    ageColumn,
  ],
})

function validateParentRef(parent: ParentReference | undefined): FieldError[] {
  if (!parent) return [required(PARENT_REF)]
  const errors: FieldError[] = []
  const { group, resource, name, namespace } = parent
  // The core group has no name.
  if (group) addInvalid(errors, PARENT_REF.child('group'), group, isDns1123Subdomain(group))
  validateSegment(errors, resource, PARENT_REF.child('resource'))
  validateSegment(errors, name, PARENT_REF.child('name'))
  if (namespace) addInvalid(errors, PARENT_REF.child('namespace'), namespace, isPathSegmentName(namespace, false))
  return errors
}

function formatParent(parent: ParentReference | undefined): string {
  if (!parent) return '<none>'
  const { group, resource, namespace, name } = parent
  const kind = (group ? `${resource}.${group}` : (resource ?? '')).toLowerCase()
  return [kind, ...(namespace ? [namespace] : []), name].join('/')
}
