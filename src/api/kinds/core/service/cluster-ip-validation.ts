import { parseIP } from '../../../../base/ip-address.ts'
import type { Service, ServiceSpec } from '../../../generated/core-v1.ts'
import { duplicate, type FieldError, invalid, notSupported, required } from '../../../meta/field-error.ts'
import { FieldPath } from '../../../meta/field-path.ts'
import { validateIP } from '../../../meta/ip-validation.ts'
import { seenBefore } from '../../../meta/seen-before.ts'
import { CLUSTER_IP_NONE, isEmpty, isHeadless, needsClusterIP, specOf } from './service-type.ts'

const SPEC = FieldPath.root('spec')
const CLUSTER_IPS = SPEC.child('clusterIPs')
const IP_FAMILIES = SPEC.child('ipFamilies')
const IP_FAMILY_POLICY = SPEC.child('ipFamilyPolicy')

const FAMILIES = ['IPv4', 'IPv6'] as const
const FAMILY_POLICIES = ['PreferDualStack', 'RequireDualStack', 'SingleStack'] as const

/** The address fields must agree with each other. Also run before allocation, which then need not think of odd cases. */
export function validateClusterIPs(errors: FieldError[], spec: Readonly<ServiceSpec>): void {
  if (!needsClusterIP(spec)) return
  const ips = spec.clusterIPs ?? []
  validateFirst(errors, spec, ips)
  validateFamilies(errors, spec.ipFamilies ?? [])
  if (spec.ipFamilyPolicy !== undefined && !FAMILY_POLICIES.includes(spec.ipFamilyPolicy as 'SingleStack')) {
    errors.push(notSupported(IP_FAMILY_POLICY, spec.ipFamilyPolicy, FAMILY_POLICIES))
  }
  const wellFormed = validateAddresses(errors, ips)
  if (ips.length > 2) errors.push(invalid(CLUSTER_IPS, ips, 'may only hold up to 2 values'))
  // With a broken address what follows would name the wrong culprit.
  if (wellFormed) validateAddressFamilies(errors, spec, ips)
}

/** `clusterIP` is always the first of `clusterIPs`. */
function validateFirst(errors: FieldError[], spec: Readonly<ServiceSpec>, ips: readonly string[]): void {
  if (!spec.clusterIP) {
    if (ips.length > 0) errors.push(invalid(CLUSTER_IPS, ips, 'must be empty when `clusterIP` is not specified'))
  } else if (ips.length === 0) errors.push(required(CLUSTER_IPS))
  else if (ips[0] !== spec.clusterIP) errors.push(invalid(CLUSTER_IPS, ips, 'first value must match `clusterIP`'))
}

function validateFamilies(errors: FieldError[], families: readonly string[]): void {
  const isRepeated = seenBefore<string>()
  for (let i = 0; i < families.length; i++) {
    const family = families[i]!
    if (!FAMILIES.includes(family as 'IPv4')) errors.push(notSupported(IP_FAMILIES.index(i), family, FAMILIES))
    if (isRepeated(family)) errors.push(duplicate(IP_FAMILIES.index(i), family))
  }
}

function validateAddresses(errors: FieldError[], ips: readonly string[]): boolean {
  let wellFormed = true
  for (let i = 0; i < ips.length; i++) {
    const ip = ips[i]!
    if (i === 0 && ip === CLUSTER_IP_NONE) {
      if (ips.length === 1) continue
      errors.push(invalid(CLUSTER_IPS, ips, "'None' must be the first and only value"))
      wellFormed = false
    } else if (!validateIP(errors, CLUSTER_IPS.index(i), ip)) wellFormed = false
  }
  return wellFormed
}

function validateAddressFamilies(errors: FieldError[], spec: Readonly<ServiceSpec>, ips: readonly string[]): void {
  if (ips.length === 0 || isHeadless(spec)) return
  const found = ips.map((ip) => parseIP(ip)?.family)
  if (ips.length > 1 && new Set(found).size < 2) {
    errors.push(invalid(CLUSTER_IPS, ips, 'may specify no more than one IP for each IP family'))
  }
  const wanted = spec.ipFamilies ?? []
  for (let i = 0; i < Math.min(ips.length, wanted.length); i++) {
    const family = wanted[i]!
    if (family !== found[i] && FAMILIES.includes(family as 'IPv4')) {
      const message = `expected an ${family} value as indicated by \`ipFamilies[${i}]\``
      errors.push(invalid(CLUSTER_IPS.index(i), ips[i], message))
    }
  }
}

/** Addresses and families may be added and the second one removed, but the first stays, unless ExternalName is left or entered. */
export function validateClusterIPsUpdate(errors: FieldError[], service: Service, old: Service): void {
  const spec = specOf(service)
  const before = specOf(old)
  if (!needsClusterIP(spec) || !needsClusterIP(before)) return
  const headless = isHeadless(spec)
  const wasHeadless = isHeadless(before)
  if (headless && wasHeadless) return
  validateAddressChange(errors, spec, before)
  if (headless === wasHeadless) validateFamilyChange(errors, spec, before)
}

const MAY_NOT_CHANGE = 'may not change once set'

function validateAddressChange(errors: FieldError[], spec: Readonly<ServiceSpec>, before: Readonly<ServiceSpec>): void {
  const ips = spec.clusterIPs ?? []
  const oldIPs = before.clusterIPs ?? []
  const kept = oldIPs.length === ips.length ? ips.length : 1
  if (oldIPs.length > 0 && ips.length === 0) {
    errors.push(invalid(CLUSTER_IPS.index(0), spec.clusterIPs, 'primary clusterIP can not be unset'))
    return
  }
  for (let i = 0; i < Math.min(kept, oldIPs.length); i++) {
    if (oldIPs[i] !== ips[i]) errors.push(invalid(CLUSTER_IPS.index(i), ips, MAY_NOT_CHANGE))
  }
  if (oldIPs.length > 1 && ips.length === 1 && spec.ipFamilyPolicy !== 'SingleStack') {
    const message = "must be set to 'SingleStack' when releasing the secondary clusterIP"
    errors.push(invalid(IP_FAMILY_POLICY, spec.ipFamilyPolicy, message))
  }
}

function validateFamilyChange(errors: FieldError[], spec: Readonly<ServiceSpec>, before: Readonly<ServiceSpec>): void {
  const families = spec.ipFamilies ?? []
  const oldFamilies = before.ipFamilies ?? []
  const first = IP_FAMILIES.index(0)
  if (oldFamilies.length === families.length) {
    for (let i = 0; i < families.length; i++) {
      if (oldFamilies[i] !== families[i]) errors.push(invalid(first, families, MAY_NOT_CHANGE))
    }
    return
  }
  const shrank = oldFamilies.length > families.length
  if (shrank && isEmpty(spec.clusterIPs)) {
    errors.push(invalid(first, spec.ipFamilies, 'primary ipFamily can not be unset'))
  }
  if (families.length > 0 && oldFamilies.length > 0 && families[0] !== oldFamilies[0]) {
    errors.push(invalid(first, spec.clusterIPs, MAY_NOT_CHANGE))
  }
  if (shrank && families.length === 1 && spec.ipFamilyPolicy !== 'SingleStack') {
    const message = "must be set to 'SingleStack' when releasing the secondary ipFamily"
    errors.push(invalid(IP_FAMILY_POLICY, spec.ipFamilyPolicy, message))
  }
}
