import { getOrCreate } from '../../../base/get-or-create.ts'
import type { CheckedPod, CheckVersion, FindViolation, Violation } from './check.ts'
import {
  hostNamespacesCheck,
  hostPathVolumesCheck,
  hostPortsCheck,
  probeHostsCheck,
  windowsHostProcessCheck,
} from './checks/host-access.ts'
import {
  defaultCapabilitiesCheck,
  privilegedCheck,
  privilegeEscalationCheck,
  procMountCheck,
  restrictedCapabilitiesCheck,
  restrictedProcMountCheck,
} from './checks/privileges.ts'
import { appArmorCheck, restrictedSeccompCheck, seccompCheck, seLinuxCheck } from './checks/profiles.ts'
import { runAsNonRootCheck, runAsUserCheck } from './checks/users.ts'
import { sysctlsCheck, volumeTypesCheck } from './checks/volumes-and-sysctls.ts'
import type { Level, LevelVersion } from './policy.ts'

/** In this order violations are told. */
const CHECKS = [
  appArmorCheck,
  defaultCapabilitiesCheck,
  hostNamespacesCheck,
  hostPathVolumesCheck,
  hostPortsCheck,
  probeHostsCheck,
  privilegedCheck,
  procMountCheck,
  seLinuxCheck,
  seccompCheck,
  sysctlsCheck,
  windowsHostProcessCheck,
  privilegeEscalationCheck,
  restrictedCapabilitiesCheck,
  restrictedProcMountCheck,
  volumeTypesCheck,
  runAsNonRootCheck,
  runAsUserCheck,
  restrictedSeccompCheck,
]
/** No check has changed since; later versions are the same. */
const NEWEST = Math.max(...CHECKS.flatMap(({ versions }) => versions.map(({ since }) => since)))

const known = new Map<string, readonly FindViolation[]>()

/** Everything about the pod that the level does not allow. */
export function violations({ level, minor }: LevelVersion, pod: CheckedPod): Violation[] {
  if (level === 'privileged') return []
  const version = Math.min(minor, NEWEST)
  const finders = getOrCreate(known, `${level} ${version}`, () => findersOf(level, version))
  return finders.map((find) => find(pod)).filter((violation) => violation !== undefined)
}

function findersOf(level: Level, minor: number): FindViolation[] {
  const active = new Map<string, CheckVersion>()
  for (const check of CHECKS) {
    if (check.level === 'restricted' && level !== 'restricted') continue
    const version = check.versions.findLast(({ since }) => since <= minor)
    if (version) active.set(check.id, version)
  }
  for (const { replaces } of [...active.values()]) if (replaces) active.delete(replaces)
  return [...active.values()].map(({ find }) => find)
}

/** `host namespaces (hostNetwork=true), privileged (container "c" must not ...)` */
export function detailsText(found: readonly Violation[]): string {
  return found.map(({ reason, detail }) => (detail ? `${reason} (${detail})` : reason)).join(', ')
}
