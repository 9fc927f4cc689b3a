import { ANNOTATION } from '../../../../api/meta/well-known.ts'
import {
  allContainers,
  type Check,
  type CheckedPod,
  type FindViolation,
  isWindows,
  named,
  namesOf,
  plural,
  quoted,
  setters,
  sorted,
  unless,
} from '../check.ts'

const APP_ARMOR_ANNOTATION = 'container.apparmor.security.beta.kubernetes.io/'
const SECCOMP_CONTAINER_ANNOTATION = 'container.seccomp.security.alpha.kubernetes.io/'

type ProfileField = 'appArmorProfile' | 'seccompProfile'
const isConfining = (type: string) => type === 'RuntimeDefault' || type === 'Localhost'

/** Who names a profile that confines nothing, and which. */
function looseProfiles(pod: CheckedPod, field: ProfileField) {
  const types: string[] = []
  const isLoose = (type: string | undefined) => {
    if (type === undefined || isConfining(type)) return false
    types.push(type)
    return true
  }
  const isPodBad = isLoose(pod.spec.securityContext?.[field]?.type)
  const containers = namesOf(allContainers(pod), ({ securityContext }) => isLoose(securityContext?.[field]?.type))
  return { isPodBad, containers, types: sorted(types) }
}

const appArmor: FindViolation = (pod) => {
  const { isPodBad, containers, types } = looseProfiles(pod, 'appArmorProfile')
  const annotations = Object.entries(pod.metadata?.annotations ?? {})
    .filter(([key, value]) => key.startsWith(APP_ARMOR_ANNOTATION) && !isAppArmorAllowed(value))
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .sort()
  const who = [setters(isPodBad, containers)].filter((text) => text !== '')
  if (annotations.length > 0) who.push(plural('annotation', annotations.length))
  if (who.length === 0) return undefined
  const values = [...types, ...annotations]
  return {
    reason: plural('forbidden AppArmor profile', values.length),
    // Written as they stand in the object, quotes within quotes.
    detail: `${who.join(' and ')} must not set AppArmor profile type to "${values.join('", "')}"`,
  }
}

const isAppArmorAllowed = (profile: string) =>
  profile === '' || profile === 'runtime/default' || profile.startsWith('localhost/')

const seccompAnnotations: FindViolation = (pod) => {
  const { annotations = {} } = pod.metadata ?? {}
  const keys = [ANNOTATION.alphaSeccomp, ...allContainers(pod).map(({ name }) => SECCOMP_CONTAINER_ANNOTATION + name)]
  const bad = keys
    .filter((key) => Object.hasOwn(annotations, key) && !isSeccompAllowed(annotations[key]!))
    .map((key) => `${key}=${JSON.stringify(annotations[key])}`)
  if (bad.length === 0) return undefined
  const distinct = sorted(bad)
  const detail = `forbidden ${plural('annotation', distinct.length)} ${distinct.join(', ')}`
  return { reason: 'seccompProfile', detail }
}

const isSeccompAllowed = (profile: string) =>
  profile === 'runtime/default' || profile === 'docker/default' || profile.startsWith('localhost/')

const noLooseSeccomp: FindViolation = (pod) => {
  const { isPodBad, containers, types } = looseProfiles(pod, 'seccompProfile')
  if (types.length === 0) return undefined
  const detail = `${setters(isPodBad, containers)} must not set securityContext.seccompProfile.type to ${quoted(types)}`
  return { reason: 'seccompProfile', detail }
}

const someSeccomp: FindViolation = (pod) => {
  const loose = noLooseSeccomp(pod)
  if (loose || pod.spec.securityContext?.seccompProfile) return loose
  const open = namesOf(allContainers(pod), ({ securityContext }) => !securityContext?.seccompProfile)
  if (open.length === 0) return undefined
  const detail = `pod or ${named('container', open)} must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"`
  return { reason: 'seccompProfile', detail }
}

const OLD_SELINUX_TYPES = ['', 'container_t', 'container_init_t', 'container_kvm_t']
const SELINUX_TYPES = [...OLD_SELINUX_TYPES, 'container_engine_t']

const seLinux =
  (allowed: readonly string[]): FindViolation =>
  (pod) => {
    const ofPod = pod.spec.securityContext?.seLinuxOptions
    const bad = allContainers(pod).filter(({ securityContext }) => isBad(securityContext?.seLinuxOptions))
    function isBad(options: typeof ofPod): boolean {
      return options !== undefined && (!allowed.includes(options.type ?? '') || Boolean(options.user || options.role))
    }
    if (!isBad(ofPod) && bad.length === 0) return undefined
    const all = [ofPod, ...bad.map(({ securityContext }) => securityContext?.seLinuxOptions)]
    const types = sorted(all.map((one) => one?.type ?? '').filter((type) => !allowed.includes(type)))
    const what = [
      types.length > 0 && named('type', types),
      all.some((one) => one?.user) && 'user may not be set',
      all.some((one) => one?.role) && 'role may not be set',
    ].filter((text) => typeof text === 'string')
    const who = setters(
      isBad(ofPod),
      bad.map(({ name }) => name),
    )
    return {
      reason: 'seLinuxOptions',
      detail: `${who} set forbidden securityContext.seLinuxOptions: ${what.join('; ')}`,
    }
  }

export const appArmorCheck: Check = {
  id: 'appArmorProfile',
  level: 'baseline',
  versions: [{ since: 0, find: appArmor }],
}
export const seccompCheck: Check = {
  id: 'seccompProfile_baseline',
  level: 'baseline',
  versions: [
    { since: 0, find: seccompAnnotations },
    { since: 19, find: noLooseSeccomp },
  ],
}
export const restrictedSeccompCheck: Check = {
  id: 'seccompProfile_restricted',
  level: 'restricted',
  versions: [
    { since: 19, find: someSeccomp, replaces: 'seccompProfile_baseline' },
    { since: 25, find: unless(isWindows, someSeccomp), replaces: 'seccompProfile_baseline' },
  ],
}
export const seLinuxCheck: Check = {
  id: 'seLinuxOptions',
  level: 'baseline',
  versions: [
    { since: 0, find: seLinux(OLD_SELINUX_TYPES) },
    { since: 31, find: seLinux(SELINUX_TYPES) },
  ],
}
