import {
  allContainers,
  type Check,
  type FindViolation,
  hasUserNamespace,
  isWindows,
  named,
  namesOf,
  quoted,
  sorted,
  unless,
} from '../check.ts'

/** What a container runtime gives by itself. */
const DEFAULT_CAPABILITIES = new Set([
  'AUDIT_WRITE',
  'CHOWN',
  'DAC_OVERRIDE',
  'FOWNER',
  'FSETID',
  'KILL',
  'MKNOD',
  'NET_BIND_SERVICE',
  'SETFCAP',
  'SETGID',
  'SETPCAP',
  'SETUID',
  'SYS_CHROOT',
])

const privileged: FindViolation = (pod) => {
  const bad = namesOf(allContainers(pod), ({ securityContext }) => securityContext?.privileged === true)
  if (bad.length === 0) return undefined
  return { reason: 'privileged', detail: `${named('container', bad)} must not set securityContext.privileged=true` }
}

/** Containers that add capabilities beyond these, in one sentence. */
function addedBeyond(pod: Parameters<FindViolation>[0], isAllowed: (name: string) => boolean): string | undefined {
  const beyond: string[] = []
  const bad = namesOf(allContainers(pod), ({ securityContext }) => {
    const own = (securityContext?.capabilities?.add ?? []).filter((name) => !isAllowed(name))
    beyond.push(...own)
    return own.length > 0
  })
  if (bad.length === 0) return undefined
  return `${named('container', bad)} must not include ${quoted(sorted(beyond))} in securityContext.capabilities.add`
}

const defaultCapabilities: FindViolation = (pod) => {
  const detail = addedBeyond(pod, (name) => DEFAULT_CAPABILITIES.has(name))
  return detail === undefined ? undefined : { reason: 'non-default capabilities', detail }
}

const restrictedCapabilities: FindViolation = (pod) => {
  const keeping = namesOf(
    allContainers(pod),
    ({ securityContext }) => !securityContext?.capabilities?.drop?.includes('ALL'),
  )
  const details = [
    keeping.length > 0 && `${named('container', keeping)} must set securityContext.capabilities.drop=["ALL"]`,
    addedBeyond(pod, (name) => name === 'NET_BIND_SERVICE'),
  ].filter((detail) => typeof detail === 'string')
  return details.length > 0 ? { reason: 'unrestricted capabilities', detail: details.join('; ') } : undefined
}

const privilegeEscalation: FindViolation = (pod) => {
  const bad = namesOf(allContainers(pod), (one) => one.securityContext?.allowPrivilegeEscalation !== false)
  if (bad.length === 0) return undefined
  const detail = `${named('container', bad)} must set securityContext.allowPrivilegeEscalation=false`
  return { reason: 'allowPrivilegeEscalation != false', detail }
}

const procMount: FindViolation = (pod) => {
  const types: string[] = []
  const bad = namesOf(allContainers(pod), ({ securityContext }) => {
    const type = securityContext?.procMount
    if (type === undefined || type === 'Default') return false
    types.push(type)
    return true
  })
  if (bad.length === 0) return undefined
  const detail = `${named('container', bad)} must not set securityContext.procMount to ${quoted(sorted(types))}`
  return { reason: 'procMount', detail }
}

export const privilegedCheck: Check = {
  id: 'privileged',
  level: 'baseline',
  versions: [{ since: 0, find: privileged }],
}
export const defaultCapabilitiesCheck: Check = {
  id: 'capabilities_baseline',
  level: 'baseline',
  versions: [{ since: 0, find: defaultCapabilities }],
}
export const restrictedCapabilitiesCheck: Check = {
  id: 'capabilities_restricted',
  level: 'restricted',
  versions: [
    { since: 22, find: restrictedCapabilities, replaces: 'capabilities_baseline' },
    { since: 25, find: unless(isWindows, restrictedCapabilities), replaces: 'capabilities_baseline' },
  ],
}
export const privilegeEscalationCheck: Check = {
  id: 'allowPrivilegeEscalation',
  level: 'restricted',
  versions: [
    { since: 8, find: privilegeEscalation },
    { since: 25, find: unless(isWindows, privilegeEscalation) },
  ],
}
export const procMountCheck: Check = {
  id: 'procMount',
  level: 'baseline',
  versions: [
    { since: 0, find: procMount },
    { since: 35, find: unless(hasUserNamespace, procMount) },
  ],
}
export const restrictedProcMountCheck: Check = {
  id: 'procMount_restricted',
  level: 'restricted',
  versions: [{ since: 35, find: procMount, replaces: 'procMount' }],
}
