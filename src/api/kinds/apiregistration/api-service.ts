import type { APIService, APIServiceSpec } from '../../generated/apiregistration-v1.ts'
import { defineKind } from '../../kind.ts'
import { findCondition } from '../../meta/conditions.ts'
import { type FieldError, invalid, notSupported, required } from '../../meta/field-error.ts'
import { FieldPath } from '../../meta/field-path.ts'
import { isDns1035Label, isDns1123Subdomain, isPathSegmentName, isPortNumber } from '../../meta/names.ts'
import { keepField, statusSubresource } from '../../strategy.ts'
import { ageColumn, column, nameColumn } from '../core/printed-columns.ts'

const SPEC = FieldPath.root('spec')
const NAME = FieldPath.root('metadata').child('name')
const CONDITION_STATUSES = ['True', 'False', 'Unknown']

export const apiServiceKind = defineKind<APIService>({
  group: 'apiregistration.k8s.io',
  version: 'v1',
  kind: 'APIService',
  plural: 'apiservices',
  categories: ['api-extensions'],
  namespaced: false,
  schema: 'io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.APIService',
  unconditionalUpdate: false,
  validateName: isPathSegmentName,
  defaults: (draft) => {
    if (draft.spec?.service) draft.spec.service.port ??= 443
  },
  prepareCreate,
  prepareUpdate: (draft, old) => keepField(draft, old, 'status'),
  validate,
  columns: [
    nameColumn,
    column<APIService>('Service', 'The reference to the service that hosts this API endpoint.', service),
    column<APIService>('Available', 'Whether this service is available.', available),
    ageColumn,
  ],
  subresources: { status: statusSubresource<APIService>({ validateUpdate: validateStatus }) },
})

/** Groups that this server itself serves are there at once; others when they were seen answering. */
function prepareCreate(draft: APIService): void {
  if (draft.spec?.service) draft.status = {}
  else draft.status = { conditions: [{ ...LOCAL }] }
}

const LOCAL = { type: 'Available', status: 'True', reason: 'Local', message: 'Local APIServices are always available' }

function service({ spec }: APIService): string {
  return spec?.service ? `${spec.service.namespace ?? ''}/${spec.service.name ?? ''}` : 'Local'
}

function available({ status }: APIService): string {
  const condition = findCondition(status?.conditions, 'Available')
  if (!condition) return 'Unknown'
  return condition.status === 'True' ? 'True' : `${condition.status} (${condition.reason ?? ''})`
}

function validate({ metadata, spec }: APIService): FieldError[] {
  const { group = '', version = '' } = spec ?? {}
  const errors: FieldError[] = []
  const name = `${version}.${group}`
  if (metadata.name && metadata.name !== name)
    errors.push(invalid(NAME, metadata.name, `must be \`spec.version+"."+spec.group\`: "${name}"`))
  if (group === '' && version !== 'v1')
    errors.push(required(SPEC.child('group'), 'only v1 may have an empty group and it better be legacy kube'))
  if (group !== '')
    for (const message of isDns1123Subdomain(group)) errors.push(invalid(SPEC.child('group'), group, message))
  for (const message of isDns1035Label(version)) errors.push(invalid(SPEC.child('version'), version, message))
  return [...errors, ...validatePriorities(spec), ...(spec?.service ? validateService(spec) : validateLocal(spec))]
}

function validatePriorities(spec: APIServiceSpec | undefined): FieldError[] {
  const errors: FieldError[] = []
  const { groupPriorityMinimum = 0, versionPriority = 0 } = spec ?? {}
  if (groupPriorityMinimum <= 0 || groupPriorityMinimum > 20_000) {
    const path = SPEC.child('groupPriorityMinimum')
    errors.push(invalid(path, groupPriorityMinimum, 'must be positive and less than 20000'))
  }
  if (versionPriority <= 0 || versionPriority > 1000)
    errors.push(invalid(SPEC.child('versionPriority'), versionPriority, 'must be positive and less than 1000'))
  return errors
}

function validateLocal(spec: APIServiceSpec | undefined): FieldError[] {
  const errors: FieldError[] = []
  const { caBundle, insecureSkipTLSVerify: insecure } = spec ?? {}
  if (caBundle)
    errors.push(
      invalid(
        SPEC.child('caBundle'),
        `${Buffer.byteLength(caBundle, 'base64')} bytes`,
        'local APIServices may not have a caBundle',
      ),
    )
  if (insecure)
    errors.push(
      invalid(SPEC.child('insecureSkipTLSVerify'), insecure, 'local APIServices may not have insecureSkipTLSVerify'),
    )
  return errors
}

function validateService(spec: APIServiceSpec): FieldError[] {
  const { service: target = {}, insecureSkipTLSVerify: insecure, caBundle } = spec
  const errors: FieldError[] = []
  if (!target.namespace) errors.push(required(SPEC.child('service', 'namespace')))
  if (!target.name) errors.push(required(SPEC.child('service', 'name')))
  const wrongPort = isPortNumber(target.port ?? 0)
  if (wrongPort.length > 0)
    errors.push(invalid(SPEC.child('service', 'port'), target.port, `port is not valid: ${wrongPort.join(', ')}`))
  if (insecure && caBundle)
    errors.push(invalid(SPEC.child('insecureSkipTLSVerify'), insecure, 'may not be true if caBundle is present'))
  return errors
}

function validateStatus({ status }: APIService): FieldError[] {
  const path = FieldPath.root('status').child('conditions')
  return (status?.conditions ?? []).flatMap((condition, index) =>
    CONDITION_STATUSES.includes(condition.status)
      ? []
      : [notSupported(path.index(index).child('status'), condition.status, CONDITION_STATUSES)],
  )
}
