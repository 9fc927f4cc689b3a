import type {
  AppArmorProfile,
  PodSecurityContext,
  PodSpec,
  SeccompProfile,
  SecurityContext,
  Sysctl,
} from '../../../generated/core-v1.ts'
import { duplicate, type FieldError, invalid, notSupported, required, tooLong } from '../../../meta/field-error.ts'
import type { FieldPath } from '../../../meta/field-path.ts'
import { isUserId } from '../../../meta/names.ts'
import { checkChoice, type PodCheck, refuse, refuseField } from './pod-check.ts'
import { checkRelativePath } from './volume-paths.ts'
import { validateWindowsOptions } from './windows-options-validation.ts'

const FS_GROUP_POLICIES = ['Always', 'OnRootMismatch']
const GROUPS_POLICIES = ['Merge', 'Strict']
const SELINUX_POLICIES = ['MountOption', 'Recursive']
const PROFILE_TYPES = ['Localhost', 'RuntimeDefault', 'Unconfined']
const PROC_MOUNTS = ['Default', 'Unmasked']
const MAX_PROFILE_PATH = 4095
const MAX_SYSCTL = 253
const SYSCTL = /^[a-z0-9](?:[-_a-z0-9]*[a-z0-9])?(?:[./][a-z0-9](?:[-_a-z0-9]*[a-z0-9])?)*$/
const SYSCTL_FORMAT = '^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$'

export function validatePodSecurityContext(spec: PodSpec, path: FieldPath, errors: FieldError[]): void {
  const context = spec.securityContext
  if (spec.shareProcessNamespace && spec.hostPID)
    errors.push(
      invalid(path.child('shareProcessNamespace'), true, 'ShareProcessNamespace and HostPID cannot both be enabled'),
    )
  if (!context) return
  for (const field of ['fsGroup', 'runAsUser', 'runAsGroup'] as const) {
    const id = context[field]
    if (id !== undefined) refuseField(errors, path, field, id, isUserId(id))
  }
  context.supplementalGroups?.forEach((id, i) => {
    refuse(errors, path.child('supplementalGroups').index(i), id, isUserId(id))
  })
  if (context.sysctls) checkSysctls(spec, context.sysctls, path.child('sysctls'), errors)
  checkPolicies(context, path, errors)
  checkSeccomp(context.seccompProfile, path.child('seccompProfile'), errors)
  checkAppArmor(context.appArmorProfile, path.child('appArmorProfile'), errors)
  validateWindowsOptions(context.windowsOptions, path.child('windowsOptions'), errors)
}

function checkPolicies(context: PodSecurityContext, path: FieldPath, errors: FieldError[]): void {
  const oneOf = (field: keyof PodSecurityContext & string, supported: readonly string[]) => {
    const policy = context[field] as string | undefined
    if (policy !== undefined && !supported.includes(policy))
      errors.push(notSupported(path.child(field), policy, supported))
  }
  oneOf('fsGroupChangePolicy', FS_GROUP_POLICIES)
  oneOf('supplementalGroupsPolicy', GROUPS_POLICIES)
  oneOf('seLinuxChangePolicy', SELINUX_POLICIES)
}

export function validateSecurityContext(check: PodCheck, context: SecurityContext, path: FieldPath): void {
  const { errors, spec } = check
  for (const field of ['runAsUser', 'runAsGroup'] as const) {
    const id = context[field]
    if (id !== undefined) refuseField(errors, path, field, id, isUserId(id))
  }
  const { procMount } = context
  if (procMount !== undefined && !PROC_MOUNTS.includes(procMount))
    errors.push(notSupported(path.child('procMount'), procMount, PROC_MOUNTS))
  if (procMount === 'Unmasked' && spec.hostUsers !== false)
    errors.push(invalid(path.child('procMount'), procMount, '`hostUsers` must be false to use `Unmasked`'))
  checkSeccomp(context.seccompProfile, path.child('seccompProfile'), errors)
  if (context.allowPrivilegeEscalation === false) checkEscalation(context, path, errors)
  validateWindowsOptions(context.windowsOptions, path.child('windowsOptions'), errors)
  checkAppArmor(context.appArmorProfile, path.child('appArmorProfile'), errors)
}

/** Two ways to more privileges, both of which the container gave up. */
function checkEscalation(context: SecurityContext, path: FieldPath, errors: FieldError[]): void {
  if (context.privileged)
    errors.push(invalid(path, context, 'cannot set `allowPrivilegeEscalation` to false and `privileged` to true'))
  if (context.capabilities?.add?.includes('CAP_SYS_ADMIN'))
    errors.push(
      invalid(path, context, 'cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN'),
    )
}

function checkSeccomp(profile: SeccompProfile | undefined, path: FieldPath, errors: FieldError[]): void {
  if (!profile) return
  checkChoice(errors, path, 'type', profile.type, PROFILE_TYPES, 'type is required when seccompProfile is set')
  if (profile.type === 'Localhost') {
    if (!profile.localhostProfile)
      errors.push(required(path.child('localhostProfile'), 'must be set when seccomp type is Localhost'))
    else checkRelativePath(profile.localhostProfile, path.child('localhostProfile'), errors)
  } else if (profile.localhostProfile !== undefined)
    errors.push(invalid(path.child('localhostProfile'), profile, 'can only be set when seccomp type is Localhost'))
}

function checkAppArmor(profile: AppArmorProfile | undefined, path: FieldPath, errors: FieldError[]): void {
  if (!profile) return
  const local = profile.localhostProfile
  const at = path.child('localhostProfile')
  if (profile.type === 'Localhost') {
    if (!local?.trim()) errors.push(required(at, 'must be set when AppArmor type is Localhost'))
    else if (local !== local.trim()) errors.push(invalid(at, local, 'must not be padded with whitespace'))
    if (local && Buffer.byteLength(local) > MAX_PROFILE_PATH) errors.push(tooLong(at, MAX_PROFILE_PATH))
  } else if (!profile.type) errors.push(required(path.child('type'), 'type is required when appArmorProfile is set'))
  else if (!PROFILE_TYPES.includes(profile.type))
    errors.push(notSupported(path.child('type'), profile.type, PROFILE_TYPES))
  else if (local !== undefined) errors.push(invalid(at, local, 'can only be set when AppArmor type is Localhost'))
}

function checkSysctls(spec: PodSpec, sysctls: readonly Sysctl[], path: FieldPath, errors: FieldError[]): void {
  const seen = new Set<string>()
  sysctls.forEach((sysctl, i) => {
    const at = path.index(i).child('name')
    const { name = '' } = sysctl
    if (name === '') errors.push(required(at))
    else if (name.length > MAX_SYSCTL || !SYSCTL.test(name))
      errors.push(invalid(at, name, `must have at most ${MAX_SYSCTL} characters and match regex ${SYSCTL_FORMAT}`))
    else if (seen.has(name)) errors.push(duplicate(at, name))
    checkHostSysctl(spec, name.replaceAll('/', '.'), at, errors)
    seen.add(name)
  })
}

/** On the host's namespace a setting would be the host's. */
function checkHostSysctl(spec: PodSpec, name: string, path: FieldPath, errors: FieldError[]): void {
  if (spec.hostNetwork && name.startsWith('net.'))
    errors.push(invalid(path, name, "may not be specified when 'hostNetwork' is true"))
  if (
    spec.hostIPC &&
    (name.startsWith('kernel.shm') ||
      name.startsWith('kernel.msg') ||
      name === 'kernel.sem' ||
      name.startsWith('fs.mqueue.'))
  )
    errors.push(invalid(path, name, "may not be specified when 'hostIPC' is true"))
}
