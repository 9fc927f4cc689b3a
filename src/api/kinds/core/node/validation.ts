import type { Node, Taint } from '../../../generated/core-v1.ts'
import { duplicate, type FieldError, forbidden, invalid } from '../../../meta/field-error.ts'
import { FieldPath } from '../../../meta/field-path.ts'
import { isCidr } from '../../../meta/ip-validation.ts'
import { validateLabelName } from '../../../meta/labels-validation.ts'
import { isLabelValue } from '../../../meta/names.ts'
import { checkChoice } from '../pod/pod-check.ts'
import { quantityIn, type ResourceList, validateResourceAmount } from '../resource-list.ts'

const SPEC = FieldPath.root('spec')
const STATUS = FieldPath.root('status')
const POD_CIDRS = SPEC.child('podCIDRs')
/** Upstream reports taints under `metadata`, and clients know the path by now. */
const TAINTS = FieldPath.root('metadata').child('taints')
const TAINT_EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute']

export function validateNode(node: Node): FieldError[] {
  return [
    ...validateTaints(node.spec?.taints ?? []),
    ...validateResources(node.status?.capacity, STATUS.child('capacity')),
    ...validateResources(node.status?.allocatable, STATUS.child('allocatable')),
    ...validatePodCidrs(node.spec?.podCIDRs ?? []),
  ]
}

function validateTaints(taints: readonly Taint[]): FieldError[] {
  const errors: FieldError[] = []
  const seen = new Set<string>()
  taints.forEach((taint, index) => {
    const path = TAINTS.index(index)
    const { key = '', value = '', effect = '' } = taint
    errors.push(...validateLabelName(key, path.child('key')))
    const wrong = isLabelValue(value)
    if (wrong.length > 0) errors.push(invalid(path.child('value'), value, wrong.join(';')))
    checkChoice(errors, path, 'effect', effect, TAINT_EFFECTS)
    if (seen.has(`${effect} ${key}`)) errors.push(duplicateTaint(path, taint))
    seen.add(`${effect} ${key}`)
  })
  return errors
}

function duplicateTaint(path: FieldPath, taint: Taint): FieldError {
  const error = duplicate(path, taint)
  return { ...error, message: `${error.message}: taints must be unique by key and effect pair` }
}

function validateResources(list: ResourceList | undefined, path: FieldPath): FieldError[] {
  const errors: FieldError[] = []
  for (const name in list) errors.push(...validateResourceAmount(name, quantityIn(list, name), path.child(name)))
  return errors
}

function validatePodCidrs(cidrs: readonly string[]): FieldError[] {
  const errors = cidrs.flatMap((cidr, index) =>
    isCidr(cidr).map((message) => invalid(POD_CIDRS.index(index), cidr, message)),
  )
  if (errors.length > 0 || cidrs.length < 2) return errors
  const families = new Set(cidrs.map((cidr) => cidr.includes(':')))
  if (cidrs.length > 2 || families.size < 2)
    errors.push(invalid(POD_CIDRS, cidrs, 'may specify no more than one CIDR for each IP family'))
  return errors
}

export function validateNodeUpdate(node: Node, old: Node): FieldError[] {
  const errors = validateAddresses(node)
  const [cidrs, oldCidrs] = [node.spec?.podCIDRs ?? [], old.spec?.podCIDRs ?? []]
  if (oldCidrs.length > 0 && cidrs.join() !== oldCidrs.join())
    errors.push(forbidden(POD_CIDRS, 'node updates may not change podCIDR except from "" to valid'))
  const { providerID, externalID } = old.spec ?? {}
  if (providerID && providerID !== node.spec?.providerID)
    errors.push(forbidden(SPEC.child('providerID'), 'node updates may not change providerID except from "" to valid'))
  if ((externalID ?? '') !== (node.spec?.externalID ?? ''))
    errors.push(forbidden(SPEC.child('externalID'), 'may not be updated'))
  return errors
}

function validateAddresses(node: Node): FieldError[] {
  const errors: FieldError[] = []
  const seen = new Set<string>()
  node.status?.addresses?.forEach((entry, index) => {
    const key = `${entry.type} ${entry.address}`
    if (seen.has(key)) errors.push(duplicate(STATUS.child('addresses').index(index), entry))
    seen.add(key)
  })
  return errors
}
