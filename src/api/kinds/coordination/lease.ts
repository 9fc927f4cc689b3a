import type { Lease } from '../../generated/coordination-v1.ts'
import { defineKind } from '../../kind.ts'
import { type FieldError, forbidden, invalid, notSupported } from '../../meta/field-error.ts'
import { FieldPath } from '../../meta/field-path.ts'
import { isQualifiedName } from '../../meta/names.ts'
import { ageColumn, column, nameColumn } from '../core/printed-columns.ts'

const SPEC = FieldPath.root('spec')
const STRATEGIES = ['OldestEmulationVersion']

export const leaseKind = defineKind<Lease>({
  group: 'coordination.k8s.io',
  version: 'v1',
  kind: 'Lease',
  plural: 'leases',
  schema: 'io.k8s.api.coordination.v1.Lease',
  createOnUpdate: true,
  unconditionalUpdate: false,
  validate,
  columns: [
    nameColumn,
    column<Lease>('Holder', 'Who holds the lease.', (lease) => lease.spec?.holderIdentity ?? ''),
    ageColumn,
  ],
})

function validate({ spec }: Lease): FieldError[] {
  if (!spec) return []
  const { leaseDurationSeconds: duration, leaseTransitions: transitions, strategy, preferredHolder } = spec
  const errors: FieldError[] = []
  if (duration !== undefined && duration <= 0)
    errors.push(invalid(SPEC.child('leaseDurationSeconds'), duration, 'must be greater than 0'))
  if (transitions !== undefined && transitions < 0)
    errors.push(invalid(SPEC.child('leaseTransitions'), transitions, 'must be greater than or equal to 0'))
  if (strategy !== undefined) errors.push(...validateStrategy(strategy))
  if (preferredHolder && !strategy)
    errors.push(forbidden(SPEC.child('preferredHolder'), 'may only be specified if `strategy` is defined'))
  return errors
}

function validateStrategy(strategy: string): FieldError[] {
  const path = SPEC.child('strategy')
  if (strategy.includes('/')) return isQualifiedName(strategy).map((message) => invalid(path, strategy, message))
  return STRATEGIES.includes(strategy) ? [] : [notSupported(path, strategy, STRATEGIES)]
}
