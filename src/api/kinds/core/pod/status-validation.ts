import { parseIP } from '../../../../base/ip-address.ts'
import type { ContainerStatus, Pod, PodCondition } from '../../../generated/core-v1.ts'
import { duplicate, type FieldError, forbidden, invalid } from '../../../meta/field-error.ts'
import { FieldPath } from '../../../meta/field-path.ts'
import { isIpAddress } from '../../../meta/ip-validation.ts'
import { isDns1123Subdomain, isQualifiedName } from '../../../meta/names.ts'
import { seenBefore } from '../../../meta/seen-before.ts'
import { validateAnnotationUpdate } from './annotations-validation.ts'
import { refuse, refuseField } from './pod-check.ts'

const STATUS = FieldPath.root('status')
const ANNOTATIONS = FieldPath.root('metadata').child('annotations')
const SYSTEM_CONDITIONS = new Set(['PodScheduled', 'Ready', 'Initialized'])
const NO_RETURN = 'may not be transitioned to non-terminated state'

export function validatePodStatusUpdate(pod: Pod, old: Pod): FieldError[] {
  const errors: FieldError[] = []
  const { status = {}, spec } = pod
  validateAnnotationUpdate(pod, old, ANNOTATIONS, errors)
  checkConditions(status.conditions, errors)
  checkNominatedNode(pod, old, errors)
  if ((status.observedGeneration ?? 0) < 0)
    errors.push(
      invalid(STATUS.child('observedGeneration'), status.observedGeneration, 'must be a non-negative integer'),
    )
  if ((status.qosClass ?? '') !== (old.status?.qosClass ?? ''))
    errors.push(invalid(STATUS.child('qosClass'), status.qosClass, 'field is immutable'))
  checkTransitions(pod, old, errors)
  checkAddresses('podIPs', status.podIP, status.podIPs, old.status?.podIPs, errors)
  checkAddresses('hostIPs', status.hostIP, status.hostIPs, old.status?.hostIPs, errors)
  const claims = new Set(spec?.resourceClaims?.map((claim) => claim.name))
  const isRepeated = seenBefore<string>()
  status.resourceClaimStatuses?.forEach((claim, i) => {
    const at = STATUS.child('resourceClaimStatuses').index(i)
    const { name = '' } = claim
    if (!claims.has(name))
      errors.push(invalid(at.child('name'), name, 'must match the name of an entry in `spec.resourceClaims`'))
    if (isRepeated(name)) errors.push(duplicate(at.child('name'), name))
    const claimName = claim.resourceClaimName
    if (claimName !== undefined) refuseField(errors, at, 'resourceClaimName', claimName, isDns1123Subdomain(claimName))
  })
  return errors
}

function checkConditions(conditions: readonly PodCondition[] | undefined, errors: FieldError[]): void {
  conditions?.forEach((condition, i) => {
    const at = STATUS.child('conditions').index(i)
    const { type = '', observedGeneration = 0 } = condition
    if (observedGeneration < 0)
      errors.push(invalid(at.child('observedGeneration'), observedGeneration, 'must be a non-negative integer'))
    if (!SYSTEM_CONDITIONS.has(type)) refuseField(errors, at, 'Type', type, isQualifiedName(type))
  })
}

function checkNominatedNode(pod: Pod, old: Pod, errors: FieldError[]): void {
  const node = pod.status?.nominatedNodeName
  if (!node || node === old.status?.nominatedNodeName) return
  const path = STATUS.child('nominatedNodeName')
  refuse(errors, path, node, isDns1123Subdomain(node))
  if (old.spec?.nodeName) errors.push(forbidden(path, 'may not be set on pods that are already bound to a node'))
}

/** A container that ended for good does not come back. */
function checkTransitions(pod: Pod, old: Pod, errors: FieldError[]): void {
  const policy = old.spec?.restartPolicy
  if (policy === 'Always') return
  const containers = [firstByName(old.spec?.containers), firstByName(old.spec?.initContainers)] as const
  const mayRestart = (status: ContainerStatus, init: boolean) => {
    const container = containers[init ? 1 : 0].get(status.name)?.item
    if (container?.restartPolicy !== undefined || container?.restartPolicyRules?.length) return true
    return policy === 'OnFailure' && status.state?.terminated?.exitCode !== 0
  }
  const check = (field: 'containerStatuses' | 'initContainerStatuses', init: boolean) => {
    const now = firstByName(pod.status?.[field])
    for (const before of old.status?.[field] ?? []) {
      if (!before.state?.terminated || mayRestart(before, init)) continue
      const after = now.get(before.name)
      if (after && !after.item.state?.terminated)
        errors.push(forbidden(STATUS.child(field).index(after.index).child('state'), NO_RETURN))
    }
  }
  check('containerStatuses', false)
  check('initContainerStatuses', true)
}

/** The first item of each name, and where it stands. */
function firstByName<T extends { name: string }>(items: readonly T[] = []): Map<string, { item: T; index: number }> {
  const found = new Map<string, { item: T; index: number }>()
  for (const [index, item] of items.entries()) if (!found.has(item.name)) found.set(item.name, { item, index })
  return found
}

function checkAddresses(
  field: 'podIPs' | 'hostIPs',
  first: string | undefined,
  addresses: readonly { ip?: string }[] | undefined,
  old: readonly { ip?: string }[] | undefined,
  errors: FieldError[],
): void {
  if (addresses === undefined || addresses === old) return
  const path = STATUS.child(field)
  const ips = addresses.map((address) => address.ip ?? '')
  if (first && ips.length > 0 && ips[0] !== first)
    errors.push(invalid(path.index(0).child('ip'), ips[0], `must be equal to \`${field.slice(0, -1)}\``))
  ips.forEach((ip, i) => {
    refuse(errors, path.index(i), ip, isIpAddress(ip))
  })
  const families = ips.map((ip) => parseIP(ip)?.family).filter((family) => family !== undefined)
  if (new Set(families).size < families.length)
    errors.push(invalid(path, addresses, 'may specify no more than one IP for each IP family'))
}
