import type { ServiceSpec } from '../../../api/generated/core-v1.ts'
import { validateClusterIPs } from '../../../api/kinds/core/service/cluster-ip-validation.ts'
import { CLUSTER_IP_NONE, isEmpty, needsClusterIP, sameList } from '../../../api/kinds/core/service/service-type.ts'
import { type FieldError, invalid } from '../../../api/meta/field-error.ts'
import { FieldPath } from '../../../api/meta/field-path.ts'
import { type IPFamily, parseIP } from '../../../base/ip-address.ts'

const SPEC = FieldPath.root('spec')
const POLICY = SPEC.child('ipFamilyPolicy')
const CLUSTER_IPS = SPEC.child('clusterIPs')
const FAMILIES = SPEC.child('ipFamilies')

const other = (family: string | undefined) => (family === 'IPv4' ? 'IPv6' : 'IPv4')

/**
 * Decides which address families a Service has: from its policy, its addresses, what it had before, and what the
 * cluster has (`families`, the default one first). Fills `ipFamilyPolicy` and `ipFamilies`; returns what is wrong.
 */
export function chooseIPFamilies(
  spec: ServiceSpec,
  before: Readonly<ServiceSpec> | undefined,
  families: readonly IPFamily[],
): FieldError[] {
  if (!needsClusterIP(spec) || (before && keepsPreferDualStack(spec, before))) return []
  spec.ipFamilyPolicy ??= defaultPolicy(spec, before)
  const errors: FieldError[] = []
  validateClusterIPs(errors, spec)
  if (errors.length > 0) return errors
  if (before) checkRelease(errors, spec, before)
  checkSingleStack(errors, spec)
  inferFamilies(errors, spec, families)
  if (errors.length > 0) return errors

  if (isHeadlessWithoutSelector(spec)) {
    fillFamilies(spec, families[0] ?? 'IPv4', true)
    return []
  }
  checkConfigured(errors, spec, families)
  if (errors.length === 0) fillFamilies(spec, families[0] ?? 'IPv4', families.length > 1)
  return errors
}

/** A Service that merely prefers two families is not changed because the cluster got or lost one meanwhile. */
export function keepsPreferDualStack(spec: Readonly<ServiceSpec>, before: Readonly<ServiceSpec>): boolean {
  return (
    spec.type === before.type &&
    spec.ipFamilyPolicy === 'PreferDualStack' &&
    before.ipFamilyPolicy === 'PreferDualStack' &&
    (spec.clusterIP ?? '') === (before.clusterIP ?? '') &&
    sameList(spec.clusterIPs, before.clusterIPs) &&
    sameList(spec.ipFamilies, before.ipFamilies)
  )
}

/** Endpoints that the user lists himself may be of any family, whatever the cluster has. */
const isHeadlessWithoutSelector = (spec: Readonly<ServiceSpec>) =>
  spec.clusterIP === CLUSTER_IP_NONE && Object.keys(spec.selector ?? {}).length === 0

function defaultPolicy(spec: Readonly<ServiceSpec>, before: Readonly<ServiceSpec> | undefined): string {
  return before?.ipFamilyPolicy ?? (isHeadlessWithoutSelector(spec) ? 'RequireDualStack' : 'SingleStack')
}

/** Going back to one family takes the word `SingleStack`; it alone is enough. */
function checkRelease(errors: FieldError[], spec: ServiceSpec, before: Readonly<ServiceSpec>): void {
  if (spec.ipFamilyPolicy === 'SingleStack') {
    if (sameList(spec.clusterIPs, before.clusterIPs)) spec.clusterIPs = spec.clusterIPs?.slice(0, 1)
    if (sameList(spec.ipFamilies, before.ipFamilies)) spec.ipFamilies = spec.ipFamilies?.slice(0, 1)
    return
  }
  const shrank = (now: readonly string[] | undefined, then: readonly string[] | undefined) =>
    !isEmpty(now) && now!.length < (then?.length ?? 0)
  const refuse = (what: string) =>
    errors.push(invalid(POLICY, spec.ipFamilyPolicy, `must be 'SingleStack' to release the secondary ${what}`))
  if (shrank(spec.clusterIPs, before.clusterIPs)) refuse('cluster IP')
  if (shrank(spec.ipFamilies, before.ipFamilies)) refuse('IP family')
}

function checkSingleStack(errors: FieldError[], spec: Readonly<ServiceSpec>): void {
  if (spec.ipFamilyPolicy !== 'SingleStack') return
  const refuse = (what: string) => {
    const message = `must be 'RequireDualStack' or 'PreferDualStack' when multiple ${what} are specified`
    errors.push(invalid(POLICY, spec.ipFamilyPolicy, message))
  }
  if (spec.clusterIPs?.length === 2) refuse('cluster IPs')
  if (spec.ipFamilies?.length === 2) refuse('IP families')
}

/** An address that was asked for says its family. */
function inferFamilies(errors: FieldError[], spec: ServiceSpec, families: readonly IPFamily[]): void {
  const ips = spec.clusterIPs ?? []
  for (let i = spec.ipFamilies?.length ?? 0; i < ips.length; i++) {
    if (ips[i] === CLUSTER_IP_NONE) return
    const family = parseIP(ips[i]!)?.family ?? 'IPv4'
    if (families.includes(family)) spec.ipFamilies = [...(spec.ipFamilies ?? []), family]
    else errors.push(invalid(CLUSTER_IPS.index(i), ips, `${family} is not configured on this cluster`))
  }
}

function checkConfigured(errors: FieldError[], spec: Readonly<ServiceSpec>, families: readonly IPFamily[]): void {
  if (spec.ipFamilyPolicy === 'RequireDualStack' && families.length < 2) {
    errors.push(invalid(POLICY, spec.ipFamilyPolicy, 'this cluster is not configured for dual-stack services'))
  }
  spec.ipFamilies?.forEach((family, i) => {
    if (!families.includes(family as IPFamily)) {
      errors.push(invalid(FAMILIES.index(i), family, 'not configured on this cluster'))
    }
  })
}

function fillFamilies(spec: ServiceSpec, first: IPFamily, hasBoth: boolean): void {
  if (isEmpty(spec.ipFamilies)) spec.ipFamilies = [first]
  if (spec.ipFamilyPolicy !== 'SingleStack' && spec.ipFamilies!.length === 1 && hasBoth) {
    spec.ipFamilies = [spec.ipFamilies![0]!, other(spec.ipFamilies![0])]
  }
}
