import { deepEqual } from '../../../base/deep-equal.ts'
import type { FlowSchema, FlowSchemaSpec } from '../../generated/flowcontrol-v1.ts'
import { defineKind } from '../../kind.ts'
import { type FieldError, invalid, notSupported, required } from '../../meta/field-error.ts'
import { FieldPath } from '../../meta/field-path.ts'
import { nameIsDnsSubdomain } from '../../meta/names.ts'
import { prepareCreateWithStatus, prepareUpdateWithStatus, statusSubresource } from '../../strategy.ts'
import { ageColumn, column, nameColumn } from '../core/printed-columns.ts'
import { validateConditionTypes } from './conditions.ts'
import { mandatoryFlowSchemas } from './mandatory.ts'
import { validateFlowSchemaRule } from './rules.ts'

const SPEC = FieldPath.root('spec')
const MAX_PRECEDENCE = 10_000
const METHODS = ['ByNamespace', 'ByUser']

export const flowSchemaKind = defineKind<FlowSchema>({
  group: 'flowcontrol.apiserver.k8s.io',
  version: 'v1',
  kind: 'FlowSchema',
  plural: 'flowschemas',
  namespaced: false,
  schema: 'io.k8s.api.flowcontrol.v1.FlowSchema',
  defaults: (draft) => {
    if (draft.spec) draft.spec.matchingPrecedence ||= 1000
  },
  prepareCreate: prepareCreateWithStatus,
  prepareUpdate: prepareUpdateWithStatus,
  validate,
  columns: [
    nameColumn,
    column<FlowSchema>(
      'PriorityLevel',
      'The priority level of matching requests.',
      (flow) => flow.spec?.priorityLevelConfiguration?.name ?? '',
    ),
    column<FlowSchema>(
      'MatchingPrecedence',
      'Which schema wins when several match: the lowest.',
      (flow) => flow.spec?.matchingPrecedence ?? 0,
    ),
    column<FlowSchema>(
      'DistinguisherMethod',
      'What tells one flow from another.',
      (flow) => flow.spec?.distinguisherMethod?.type ?? '<none>',
    ),
    ageColumn,
    column<FlowSchema>('MissingPL', 'Whether its priority level is missing.', missingLevel),
  ],
  subresources: {
    status: statusSubresource<FlowSchema>({
      validateUpdate: ({ status }) => validateConditionTypes(status?.conditions),
    }),
  },
})

function missingLevel({ status }: FlowSchema): string {
  return status?.conditions?.find((condition) => condition.type === 'Dangling')?.status ?? '?'
}

function validate({ metadata, spec }: FlowSchema): FieldError[] {
  const name = metadata.name ?? ''
  const errors = validateSpec(name, spec)
  if (Object.hasOwn(mandatoryFlowSchemas, name) && !deepEqual(spec, mandatoryFlowSchemas[name]))
    errors.push(invalid(SPEC, spec, `spec of '${name}' must equal the fixed value`))
  return errors
}

function validateSpec(name: string, spec: FlowSchemaSpec | undefined): FieldError[] {
  const errors = validatePrecedence(name, spec?.matchingPrecedence ?? 0)
  const method = spec?.distinguisherMethod
  if (method && !METHODS.includes(method.type))
    errors.push(notSupported(SPEC.child('distinguisherMethod', 'type'), method, METHODS))
  const level = spec?.priorityLevelConfiguration?.name ?? ''
  const path = SPEC.child('priorityLevelConfiguration', 'name')
  if (level === '') errors.push(required(path, 'must reference a priority level'))
  else for (const message of nameIsDnsSubdomain(level, false)) errors.push(invalid(path, level, message))
  spec?.rules?.forEach((rule, index) => {
    errors.push(...validateFlowSchemaRule(rule, SPEC.child('rules').index(index)))
  })
  return errors
}

function validatePrecedence(name: string, precedence: number): FieldError[] {
  const path = SPEC.child('matchingPrecedence')
  if (precedence <= 0) return [invalid(path, precedence, 'must be a positive value')]
  if (precedence > MAX_PRECEDENCE) return [invalid(path, precedence, `must not be greater than ${MAX_PRECEDENCE}`)]
  if (precedence === 1 && name !== 'exempt')
    return [invalid(path, precedence, "only the schema named 'exempt' may have matchingPrecedence 1")]
  return []
}
