import type { ResourceQuota } from '../../generated/core-v1.ts'
import { defineKind } from '../../kind.ts'
import { type FieldError, invalid } from '../../meta/field-error.ts'
import { FieldPath } from '../../meta/field-path.ts'
import { keepField, statusSubresource } from '../../strategy.ts'
import { ageColumn, column, nameColumn } from './printed-columns.ts'
import {
  canonicalizeResources,
  printedQuantity,
  quantityIn,
  type ResourceList,
  validateResourceAmount,
} from './resource-list.ts'
import { validateQuotaResourceName } from './resource-names.ts'
import { validateScopeSelector, validateScopes } from './resource-quota-scopes.ts'

const SPEC = FieldPath.root('spec')
const STATUS = FieldPath.root('status')

export const resourceQuotaKind = defineKind<ResourceQuota>({
  group: '',
  version: 'v1',
  kind: 'ResourceQuota',
  plural: 'resourcequotas',
  shortNames: ['quota'],
  schema: 'io.k8s.api.core.v1.ResourceQuota',
  defaults,
  prepareCreate: (draft) => {
    delete draft.status
  },
  prepareUpdate: (draft, old) => keepField(draft, old, 'status'),
  validate,
  validateUpdate,
  columns: [
    nameColumn,
    column<ResourceQuota>('Request', 'What is used and allowed of requests and counts.', (quota) =>
      usage(quota, (name) => !name.startsWith('limits.')),
    ),
    column<ResourceQuota>('Limit', 'What is used and allowed of limits.', (quota) =>
      usage(quota, (name) => name.startsWith('limits.')),
    ),
    ageColumn,
  ],
  subresources: { status: statusSubresource<ResourceQuota>({ validateUpdate: validateStatus }) },
})

/** `pods: 1/10, requests.cpu: 250m/2` */
function usage({ status }: ResourceQuota, belongs: (name: string) => boolean): string {
  return Object.keys(status?.hard ?? {})
    .filter(belongs)
    .sort()
    .map((name) => {
      const used = printedQuantity(quantityIn(status?.used, name))
      return `${name}: ${used}/${printedQuantity(quantityIn(status?.hard, name))}`
    })
    .join(', ')
}

function defaults(draft: ResourceQuota): void {
  canonicalizeResources(draft.spec?.hard)
  canonicalizeResources(draft.status?.hard)
  canonicalizeResources(draft.status?.used)
}

function validate({ spec }: ResourceQuota): FieldError[] {
  return [
    ...validateAmounts(spec?.hard, SPEC.child('hard')),
    ...validateScopes(spec, SPEC.child('scopes')),
    ...validateScopeSelector(spec, SPEC.child('scopeSelector', 'matchExpressions')),
  ]
}

function validateAmounts(list: ResourceList | undefined, path: FieldPath): FieldError[] {
  const errors: FieldError[] = []
  for (const name in list) {
    errors.push(...validateQuotaResourceName(name, path.key(name)))
    errors.push(...validateResourceAmount(name, quantityIn(list, name), path.key(name)))
  }
  return errors
}

function validateUpdate(quota: ResourceQuota, old: ResourceQuota): FieldError[] {
  const scopes = new Set(quota.spec?.scopes)
  const oldScopes = new Set(old.spec?.scopes)
  const same = scopes.size === oldScopes.size && [...scopes].every((scope) => oldScopes.has(scope))
  return same ? [] : [invalid(SPEC.child('scopes'), quota.spec?.scopes, 'field is immutable')]
}

function validateStatus({ status }: ResourceQuota): FieldError[] {
  return [
    ...validateAmounts(status?.hard, STATUS.child('hard')),
    ...validateAmounts(status?.used, STATUS.child('used')),
  ]
}
