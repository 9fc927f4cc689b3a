import type { HostAlias, PodDNSConfig, PodSpec } from '../../../generated/core-v1.ts'
import {
  duplicate,
  type FieldError,
  forbidden,
  invalid,
  notFound,
  required,
  tooLong,
} from '../../../meta/field-error.ts'
import type { FieldPath } from '../../../meta/field-path.ts'
import { isIpAddress } from '../../../meta/ip-validation.ts'
import { validateLabels } from '../../../meta/labels-validation.ts'
import {
  isDns1123Label,
  isDns1123Subdomain,
  isDns1123SubdomainWithUnderscore,
  isInRange,
  isQualifiedName,
} from '../../../meta/names.ts'
import { validateAffinity } from './affinity-validation.ts'
import { validateContainers, validateEphemeralContainers, validateInitContainers } from './containers-validation.ts'
import { validateOperatingSystem, validateWindowsHostProcess } from './os-validation.ts'
import { checkChoice, type PodCheck, refuse, refuseField } from './pod-check.ts'
import { validateOverhead, validatePodResources } from './resources-validation.ts'
import { validateTolerations, validateTopologySpread } from './scheduling-validation.ts'
import { validatePodSecurityContext } from './security-validation.ts'
import { validateVolumes } from './volumes-validation.ts'

const POLICIES = [
  ['restartPolicy', ['Always', 'OnFailure', 'Never'], false],
  ['dnsPolicy', ['ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None'], false],
  ['preemptionPolicy', ['PreemptLowerPriority', 'Never'], true],
] as const
const NAMES = [
  ['serviceAccountName', isDns1123Subdomain],
  ['nodeName', isDns1123Subdomain],
  ['hostname', isDns1123Label],
  ['subdomain', isDns1123Label],
  ['priorityClassName', isDns1123Subdomain],
] as const
const MAX_INT32 = 2147483647
const MAX_NAMESERVERS = 3
const MAX_SEARCHES = 32
const MAX_SEARCH_CHARACTERS = 2048
const MAX_HOSTNAME = 64

/** Every rule on a pod spec, of a pod or of a template. */
export function validatePodSpec(spec: PodSpec, path: FieldPath, isPod: boolean, errors: FieldError[]): void {
  const volumes = validateVolumes(spec, path.child('volumes'), errors)
  const resourceClaims = validateResourceClaims(spec, path.child('resourceClaims'), errors)
  const check: PodCheck = { spec, errors, isPod, volumes, resourceClaims }
  validateContainers(check, path.child('containers'))
  if (spec.initContainers) validateInitContainers(check, path.child('initContainers'))
  if (spec.ephemeralContainers) validateEphemeralContainers(check, path.child('ephemeralContainers'))
  if (spec.resources) validatePodResources(spec, path.child('resources'), errors)
  if (spec.hostNetwork) checkHostPorts(check, path.child('containers'))
  checkPolicies(spec, path, errors)
  if (spec.nodeSelector) errors.push(...validateLabels(spec.nodeSelector, path.child('nodeSelector')))
  validatePodSecurityContext(spec, path.child('securityContext'), errors)
  if (spec.affinity) validateAffinity(spec.affinity, path.child('affinity'), errors)
  checkDns(spec, path.child('dnsConfig'), errors)
  checkGates(spec, path, errors)
  if (spec.topologySpreadConstraints)
    validateTopologySpread(spec.topologySpreadConstraints, path.child('topologySpreadConstraints'), errors)
  validateWindowsHostProcess(spec, path, errors)
  if (spec.hostUsers === false) checkUserNamespace(spec, path, errors)
  checkNames(spec, path, errors)
  if (spec.tolerations) validateTolerations(spec.tolerations, path.child('tolerations'), errors)
  if (spec.hostAliases) checkHostAliases(spec.hostAliases, path.child('hostAliases'), errors)
  if (spec.overhead) validateOverhead(spec.overhead, path.child('overhead'), errors)
  if (spec.os) validateOperatingSystem(spec, path, errors)
  checkFileKeyVolumes(check, path)
}

function checkPolicies(spec: PodSpec, path: FieldPath, errors: FieldError[]): void {
  for (const [field, choices, isOptional] of POLICIES)
    if (!isOptional || spec[field] !== undefined) checkChoice(errors, path, field, spec[field], choices)
  const deadline = spec.activeDeadlineSeconds
  if (deadline !== undefined)
    refuseField(errors, path, 'activeDeadlineSeconds', deadline, isInRange(deadline, 1, MAX_INT32))
  const grace = spec.terminationGracePeriodSeconds
  if (grace === undefined) errors.push(required(path.child('terminationGracePeriodSeconds')))
}

function checkNames(spec: PodSpec, path: FieldPath, errors: FieldError[]): void {
  for (const [field, problemsOf] of NAMES) {
    const name = spec[field]
    if (name) refuseField(errors, path, field, name, problemsOf(name))
  }
  if (spec.runtimeClassName !== undefined)
    refuseField(errors, path, 'runtimeClassName', spec.runtimeClassName, isDns1123Subdomain(spec.runtimeClassName))
  if (spec.hostnameOverride !== undefined) checkHostnameOverride(spec, spec.hostnameOverride, path, errors)
}

function checkHostnameOverride(spec: PodSpec, hostname: string, parent: FieldPath, errors: FieldError[]): void {
  const path = parent.child('hostnameOverride')
  if (spec.setHostnameAsFQDN) errors.push(forbidden(path, 'may not be specified when setHostnameAsFQDN is true'))
  if (spec.hostNetwork) errors.push(forbidden(path, 'may not be specified when hostNetwork is true'))
  if (hostname.length > MAX_HOSTNAME) errors.push(tooLong(path, MAX_HOSTNAME))
  refuse(errors, path, hostname, isDns1123Subdomain(hostname))
}

/** On the host's network a container has the host's ports; a template may leave that to the pod. */
function checkHostPorts(check: PodCheck, path: FieldPath): void {
  check.spec.containers.forEach((container, i) => {
    container.ports?.forEach((port, j) => {
      const hostPort = port.hostPort ?? 0
      if ((check.isPod || hostPort !== 0) && hostPort !== (port.containerPort ?? 0))
        check.errors.push(
          invalid(
            path.index(i).child('ports').index(j).child('hostPort'),
            hostPort,
            'must match `containerPort` when `hostNetwork` is true',
          ),
        )
    })
  })
}

function checkDns(spec: PodSpec, path: FieldPath, errors: FieldError[]): void {
  const { dnsPolicy, dnsConfig } = spec
  const isAlone = dnsPolicy === 'None'
  if (isAlone && !dnsConfig) errors.push(required(path, 'must provide `dnsConfig` when `dnsPolicy` is None'))
  else if (isAlone && !dnsConfig?.nameservers?.length)
    errors.push(
      required(path.child('nameservers'), 'must provide at least one DNS nameserver when `dnsPolicy` is None'),
    )
  else if (dnsConfig) checkDnsConfig(dnsConfig, path, errors)
}

function checkDnsConfig(config: PodDNSConfig, path: FieldPath, errors: FieldError[]): void {
  const { nameservers = [], searches = [], options = [] } = config
  if (nameservers.length > MAX_NAMESERVERS)
    errors.push(
      invalid(path.child('nameservers'), nameservers, `must not have more than ${MAX_NAMESERVERS} nameservers`),
    )
  nameservers.forEach((address, i) => {
    refuse(errors, path.child('nameservers').index(i), address, isIpAddress(address))
  })
  if (searches.length > MAX_SEARCHES)
    errors.push(invalid(path.child('searches'), searches, `must not have more than ${MAX_SEARCHES} search paths`))
  if (searches.join(' ').length > MAX_SEARCH_CHARACTERS)
    errors.push(
      invalid(
        path.child('searches'),
        searches,
        `must not have more than ${MAX_SEARCH_CHARACTERS} characters (including spaces) in the search list`,
      ),
    )
  searches.forEach((search, i) => {
    if (search === '.') return
    const domain = search.endsWith('.') ? search.slice(0, -1) : search
    refuse(errors, path.child('searches').index(i), domain, isDns1123SubdomainWithUnderscore(domain))
  })
  options.forEach((option, i) => {
    if (!option.name) errors.push(required(path.child('options').index(i), 'must not be empty'))
  })
}

function checkGates(spec: PodSpec, path: FieldPath, errors: FieldError[]): void {
  spec.readinessGates?.forEach((gate, i) => {
    const type = gate.conditionType ?? ''
    refuseField(errors, path.child('readinessGates').index(i), 'conditionType', type, isQualifiedName(type))
  })
  if (!spec.schedulingGates) return
  const seen = new Set<string>()
  spec.schedulingGates.forEach((gate, i) => {
    const name = gate.name ?? ''
    refuse(errors, path.child('schedulingGates').index(i), name, isQualifiedName(name))
    if (seen.has(name)) errors.push(duplicate(path.child('schedulingGates').index(i), name))
    seen.add(name)
  })
}

/** With users of its own a pod may not share what belongs to the host's users. */
function checkUserNamespace(spec: PodSpec, path: FieldPath, errors: FieldError[]): void {
  for (const [field, shown] of [
    ['hostNetwork', 'hostNetwork'],
    ['hostPID', 'HostPID'],
    ['hostIPC', 'HostIPC'],
  ] as const)
    if (spec[field]) errors.push(forbidden(path.child(shown), 'when `hostUsers` is false'))
}

function checkHostAliases(aliases: readonly HostAlias[], path: FieldPath, errors: FieldError[]): void {
  aliases.forEach((alias, i) => {
    refuseField(errors, path.index(i), 'ip', alias.ip ?? '', isIpAddress(alias.ip ?? ''))
    alias.hostnames?.forEach((hostname, j) => {
      refuse(errors, path.index(i).child('hostnames').index(j), hostname, isDns1123Subdomain(hostname))
    })
  })
}

/** Returns the names that containers may refer to. */
function validateResourceClaims(spec: PodSpec, path: FieldPath, errors: FieldError[]): Set<string> {
  const names = new Set<string>()
  spec.resourceClaims?.forEach((claim, i) => {
    const at = path.index(i)
    const { name = '', resourceClaimName: claimName, resourceClaimTemplateName: templateName } = claim
    if (name === '') errors.push(required(at.child('name')))
    else if (names.has(name)) errors.push(duplicate(at.child('name'), name))
    else {
      refuseField(errors, at, 'name', name, isDns1123Label(name))
      names.add(name)
    }
    if (claimName !== undefined && templateName !== undefined)
      errors.push(
        invalid(at, claim, 'at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified'),
      )
    if (claimName === undefined && templateName === undefined)
      errors.push(invalid(at, claim, 'must specify one of: `resourceClaimName`, `resourceClaimTemplateName`'))
    if (claimName !== undefined) refuseField(errors, at, 'resourceClaimName', claimName, isDns1123Subdomain(claimName))
    if (templateName !== undefined)
      refuseField(errors, at, 'resourceClaimTemplateName', templateName, isDns1123Subdomain(templateName))
  })
  return names
}

/** A file that a variable is read from lies in a scratch directory of the pod. */
function checkFileKeyVolumes(check: PodCheck, path: FieldPath): void {
  for (const field of ['initContainers', 'containers'] as const) {
    check.spec[field]?.forEach((container, i) => {
      container.env?.forEach((variable, j) => {
        const name = variable.valueFrom?.fileKeyRef?.volumeName
        if (!name) return
        const at = path.child(field).index(i).child('env').index(j).child('valueFrom', 'fileKeyRef', 'volumeName')
        const volume = check.volumes.get(name)
        if (!volume) check.errors.push(notFound(at, name))
        else if (!volume.emptyDir) check.errors.push(invalid(at, name, 'referenced volume must be of type emptyDir'))
      })
    })
  }
}
