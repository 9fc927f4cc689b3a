import { deepEqual } from '../../../base/deep-equal.ts'
import type { ResourceClaim } from '../../generated/resource-v1.ts'
import { defineKind } from '../../kind.ts'
import { type FieldError, forbidden, invalid, required } from '../../meta/field-error.ts'
import { FieldPath } from '../../meta/field-path.ts'
import { keepField, statusSubresource } from '../../strategy.ts'
import { immutable } from '../core/immutable.ts'
import { validateNodeSelector } from '../core/node-selector.ts'
import { ageColumn, column, nameColumn } from '../core/printed-columns.ts'
import { defaultDeviceClaim, validateDeviceClaim } from './device-claim.ts'

const SPEC = FieldPath.root('spec')
const STATUS = FieldPath.root('status')
const RESERVED = STATUS.child('reservedFor')
const ALLOCATION = STATUS.child('allocation')

export const resourceClaimKind = defineKind<ResourceClaim>({
  group: 'resource.k8s.io',
  version: 'v1',
  kind: 'ResourceClaim',
  plural: 'resourceclaims',
  schema: 'io.k8s.api.resource.v1.ResourceClaim',
  defaults: ({ spec }) => defaultDeviceClaim(spec?.devices),
  prepareCreate: (draft) => {
    delete draft.status
  },
  prepareUpdate: (draft, old) => keepField(draft, old, 'status'),
  validate: ({ spec }) => validateDeviceClaim(spec?.devices, SPEC.child('devices')),
  validateUpdate: (claim, old) => immutable(SPEC, claim.spec, old.spec),
  columns: [nameColumn, column<ResourceClaim>('State', 'How far the claim has come.', state), ageColumn],
  subresources: { status: statusSubresource<ResourceClaim>({ validateUpdate: validateStatus }) },
})

function state({ metadata, status }: ResourceClaim): string {
  const words = metadata.deletionTimestamp === undefined ? [] : ['deleted']
  if (status?.allocation) words.push('allocated', ...(status.reservedFor?.length ? ['reserved'] : []))
  else if (words.length === 0) words.push('pending')
  return words.join(',')
}

function validateStatus(claim: ResourceClaim, old: ResourceClaim): FieldError[] {
  const errors: FieldError[] = []
  const { allocation, reservedFor = [] } = claim.status ?? {}
  reservedFor.forEach((user, index) => {
    for (const field of ['resource', 'name', 'uid'] as const)
      if (!user[field]) errors.push(required(RESERVED.index(index).child(field)))
  })
  if (reservedFor.length > 0 && !allocation)
    errors.push(forbidden(RESERVED, 'may not be specified when `allocated` is not set'))
  if (allocation?.nodeSelector)
    errors.push(...validateNodeSelector(allocation.nodeSelector, ALLOCATION.child('nodeSelector')))
  if (old.status?.allocation && allocation && !deepEqual(allocation, old.status.allocation))
    errors.push(invalid(ALLOCATION, allocation, 'field is immutable'))
  return [...errors, ...validateLateUsers(claim, old)]
}

/** A claim that is going away takes no new users. */
function validateLateUsers(claim: ResourceClaim, old: ResourceClaim): FieldError[] {
  if (claim.metadata.deletionTimestamp === undefined) return []
  const known = new Set(old.status?.reservedFor?.map((user) => user.uid))
  return claim.status?.reservedFor?.some((user) => !known.has(user.uid))
    ? [forbidden(RESERVED, 'new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set')]
    : []
}
