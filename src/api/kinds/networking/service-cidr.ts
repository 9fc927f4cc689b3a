import { parseCIDR } from '../../../base/ip-address.ts'
import type { ServiceCIDR } from '../../generated/networking-v1.ts'
import { defineKind } from '../../kind.ts'
import { type FieldError, invalid, required } from '../../meta/field-error.ts'
import { FieldPath } from '../../meta/field-path.ts'
import { validateCanonicalCIDR } from '../../meta/ip-validation.ts'
import { keepField, statusSubresource } from '../../strategy.ts'
import { ageColumn, column, nameColumn } from '../core/printed-columns.ts'

const CIDRS = FieldPath.root('spec').child('cidrs')

/** A range that Services get their addresses from; the cluster starts with one named `kubernetes`. */
export const serviceCIDRKind = defineKind<ServiceCIDR>({
  group: 'networking.k8s.io',
  version: 'v1',
  kind: 'ServiceCIDR',
  plural: 'servicecidrs',
  namespaced: false,
  schema: 'io.k8s.api.networking.v1.ServiceCIDR',
  prepareCreate(draft) {
    delete draft.status
  },
  prepareUpdate: (draft, old) => keepField(draft, old, 'status'),
  validate: validateServiceCIDR,
  validateUpdate: validateServiceCIDRUpdate,
  columns: [
    nameColumn,
    column<ServiceCIDR>('CIDRs', 'The ranges, one per address family.', (range) => (range.spec?.cidrs ?? []).join(',')),
    ageColumn,
  ],
  subresources: { status: statusSubresource<ServiceCIDR>({ validateUpdate: () => [] }) },
})

function validateServiceCIDR(range: ServiceCIDR): FieldError[] {
  const cidrs = range.spec?.cidrs ?? []
  if (cidrs.length === 0) return [required(CIDRS, 'at least one CIDR required')]
  if (cidrs.length > 2) return [invalid(CIDRS, { CIDRs: cidrs }, 'may only hold up to 2 values')]
  const errors: FieldError[] = []
  cidrs.forEach((cidr, i) => {
    validateCanonicalCIDR(errors, CIDRS.index(i), cidr)
  })
  const [first, second] = cidrs.map((cidr) => parseCIDR(cidr)?.family)
  if (first !== undefined && first === second) {
    const message = 'may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64'
    errors.push(invalid(CIDRS, cidrs, message))
  }
  return errors
}

/** A range never changes; a second family may be added. */
function validateServiceCIDRUpdate(range: ServiceCIDR, old: ServiceCIDR): FieldError[] {
  const cidrs = range.spec?.cidrs ?? []
  const before = old.spec?.cidrs ?? []
  const grows = before.length === 1 && cidrs.length === 2
  if (cidrs.length !== before.length && !grows) return [invalid(CIDRS, range.spec?.cidrs, 'field is immutable')]
  return before.flatMap((cidr, i) =>
    cidr === cidrs[i] ? [] : [invalid(CIDRS.index(i), cidrs[i], 'field is immutable')],
  )
}
