import type {
  CustomResourceDefinition,
  CustomResourceDefinitionCondition,
  CustomResourceDefinitionStatus,
} from '../../api/generated/apiextensions-v1.ts'
import { isConditionTrue, withCondition } from '../../api/meta/conditions.ts'
import { judgeNames, type NamesInUse } from './names.ts'

type Condition = CustomResourceDefinitionCondition

const APPROVAL = 'api-approved.kubernetes.io'
const PROTECTED_GROUP = /(^|\.)(k8s|kubernetes)\.io$/
const APPROVAL_HINT = 'see https://github.com/kubernetes/enhancements/pull/1111'

/** The status that a definition shall have, given the names that others use. The same object if it has it. */
export function desiredStatus(
  definition: CustomResourceDefinition,
  used: NamesInUse,
  now: string,
): CustomResourceDefinitionStatus {
  const status = definition.status ?? {}
  const { accepted, conflict } = judgeNames(definition, used)
  let conditions: readonly Condition[] = status.conditions ?? []
  const set = (type: string, isTrue: boolean, reason: string, message: string) => {
    conditions = withCondition(conditions, { type, status: isTrue ? 'True' : 'False', reason, message }, now)
  }
  set('NamesAccepted', !conflict, conflict?.reason ?? 'NoConflicts', conflict?.message ?? 'no conflicts found')
  if (!isConditionTrue(conditions, 'Established')) {
    if (conflict) set('Established', false, 'NotAccepted', 'not all names are accepted')
    else set('Established', true, 'InitialNamesAccepted', 'the initial names have been accepted')
  }
  const approval = approvalOf(definition)
  if (approval) set('KubernetesAPIApprovalPolicyConformant', approval.isApproved, approval.reason, approval.message)
  const isSame = conditions === status.conditions && JSON.stringify(accepted) === JSON.stringify(status.acceptedNames)
  return isSame ? status : { ...status, acceptedNames: accepted, conditions: [...conditions] }
}

export const isEstablished = (status: CustomResourceDefinitionStatus | undefined) =>
  isConditionTrue(status?.conditions, 'Established')

/** Groups of the Kubernetes project want to see where the API was approved. */
function approvalOf({ spec, metadata }: CustomResourceDefinition) {
  if (!PROTECTED_GROUP.test(spec.group)) return undefined
  const value = metadata.annotations?.[APPROVAL] ?? ''
  const wanted = `protected groups must have approval annotation ${JSON.stringify(APPROVAL)}`
  if (value === '') return { isApproved: false, reason: 'MissingAnnotation', message: `${wanted}, ${APPROVAL_HINT}` }
  if (value.startsWith('unapproved'))
    return { isApproved: false, reason: 'UnapprovedAnnotation', message: `not approved: ${JSON.stringify(value)}` }
  if (/^https?:\/\/[^/]+\/.+/.test(value))
    return { isApproved: true, reason: 'ApprovedAnnotation', message: `approved in ${value}` }
  const message = `${wanted} with either a URL or a reason starting with "unapproved", ${APPROVAL_HINT}`
  return { isApproved: false, reason: 'InvalidAnnotation', message }
}

/** The status with the Terminating condition set. */
export function terminatingStatus(
  definition: CustomResourceDefinition,
  isTrue: boolean,
  reason: string,
  message: string,
  now: string,
): CustomResourceDefinitionStatus {
  const condition = { type: 'Terminating', status: isTrue ? 'True' : 'False', reason, message }
  const conditions = withCondition<Condition>(definition.status?.conditions, condition, now)
  return { ...definition.status, conditions: [...conditions] }
}
