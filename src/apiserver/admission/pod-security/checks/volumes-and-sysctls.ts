import { hostPathsOf } from '../../../../api/kinds/core/pod/host-paths.ts'
import { type Check, type FindViolation, namedAll, plural, quoted, sorted } from '../check.ts'

const VOLUME_TYPES = new Set([
  'configMap',
  'csi',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'image',
  'persistentVolumeClaim',
  'projected',
  'secret',
])

const volumeTypes: FindViolation = (pod) => {
  const volumes = pod.spec.volumes ?? []
  const bad = volumes.filter((volume) => !Object.keys(volume).some((field) => VOLUME_TYPES.has(field)))
  const { annotations: annotation } = hostPathsOf(pod)
  const count = bad.length + annotation.length
  if (count === 0) return undefined
  const typeOf = (volume: object) => Object.keys(volume).find((field) => field !== 'name') ?? 'unknown'
  const types = sorted([...bad.map(typeOf), ...annotation.map(() => 'hostPath')])
  const who = namedAll({ volume: bad.map(({ name }) => name), annotation })
  const detail = `${who} ${count === 1 ? 'uses' : 'use'} ${plural('restricted volume type', types.length)} ${quoted(types)}`
  return { reason: 'restricted volume types', detail }
}

/** By the minor version since which each is known to touch nobody but the pod itself. */
const SAFE_SYSCTLS: readonly (readonly [since: number, names: readonly string[]])[] = [
  [
    0,
    [
      'kernel.shm_rmid_forced',
      'net.ipv4.ip_local_port_range',
      'net.ipv4.tcp_syncookies',
      'net.ipv4.ping_group_range',
      'net.ipv4.ip_unprivileged_port_start',
    ],
  ],
  [27, ['net.ipv4.ip_local_reserved_ports']],
  [
    29,
    [
      'net.ipv4.tcp_keepalive_time',
      'net.ipv4.tcp_fin_timeout',
      'net.ipv4.tcp_keepalive_intvl',
      'net.ipv4.tcp_keepalive_probes',
    ],
  ],
  [32, ['net.ipv4.tcp_rmem', 'net.ipv4.tcp_wmem']],
]

const sysctls = (safe: ReadonlySet<string>): FindViolation => {
  return ({ spec }) => {
    const bad = (spec.securityContext?.sysctls ?? []).map(({ name }) => name).filter((name) => !safe.has(name))
    return bad.length > 0 ? { reason: 'forbidden sysctls', detail: bad.join(', ') } : undefined
  }
}

export const sysctlsCheck: Check = {
  id: 'sysctls',
  level: 'baseline',
  versions: SAFE_SYSCTLS.map(([since], i) => ({
    since,
    find: sysctls(new Set(SAFE_SYSCTLS.slice(0, i + 1).flatMap(([, names]) => names))),
  })),
}
export const volumeTypesCheck: Check = {
  id: 'restrictedVolumes',
  level: 'restricted',
  versions: [{ since: 0, find: volumeTypes, replaces: 'hostPathVolumes' }],
}
