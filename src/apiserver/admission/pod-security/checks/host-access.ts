import { hostPathsOf } from '../../../../api/kinds/core/pod/host-paths.ts'
import {
  allContainers,
  type Check,
  type FindViolation,
  named,
  namedAll,
  namesOf,
  plural,
  quoted,
  setters,
  sorted,
} from '../check.ts'

const hostNamespaces: FindViolation = ({ spec }) => {
  const shared = (['hostNetwork', 'hostPID', 'hostIPC'] as const).filter((field) => spec[field])
  if (shared.length === 0) return undefined
  return { reason: 'host namespaces', detail: shared.map((field) => `${field}=true`).join(', ') }
}

const hostPathVolumes: FindViolation = (pod) => {
  const { volumes: volume, annotations: annotation } = hostPathsOf(pod)
  const detail = namedAll({ volume, annotation })
  return detail === '' ? undefined : { reason: 'hostPath volumes', detail }
}

const hostPorts: FindViolation = (pod) => {
  const bad = allContainers(pod).filter(({ ports }) => ports?.some(({ hostPort }) => hostPort))
  if (bad.length === 0) return undefined
  const ports = sorted(
    bad.flatMap((one) => (one.ports ?? []).flatMap(({ hostPort }) => (hostPort ? [`${hostPort}`] : []))),
  )
  const names = bad.map(({ name }) => name)
  const use = names.length === 1 ? 'uses' : 'use'
  return {
    reason: 'hostPort',
    detail: `${named('container', names)} ${use} ${plural('hostPort', ports.length)} ${ports.join(', ')}`,
  }
}

const probeHosts: FindViolation = (pod) => {
  const hosts: string[] = []
  const names = namesOf(allContainers(pod), ({ livenessProbe, readinessProbe, startupProbe, lifecycle }) => {
    const handlers = [livenessProbe, readinessProbe, startupProbe, lifecycle?.postStart, lifecycle?.preStop]
    const own = handlers.flatMap((one) => [one?.httpGet?.host, one?.tcpSocket?.host]).filter((host) => Boolean(host))
    hosts.push(...(own as string[]))
    return own.length > 0
  })
  if (names.length === 0) return undefined
  const [containers, distinct] = [sorted(names), sorted(hosts)]
  const use = containers.length === 1 ? 'uses' : 'use'
  return {
    reason: 'probe or lifecycle host',
    detail: `${named('container', containers)} ${use} ${plural('probe or lifecycle host', distinct.length)} ${quoted(distinct)}`,
  }
}

const windowsHostProcess: FindViolation = (pod) => {
  const isPodBad = pod.spec.securityContext?.windowsOptions?.hostProcess === true
  const bad = namesOf(allContainers(pod), (one) => one.securityContext?.windowsOptions?.hostProcess === true)
  if (!isPodBad && bad.length === 0) return undefined
  const detail = `${setters(isPodBad, bad)} must not set securityContext.windowsOptions.hostProcess=true`
  return { reason: 'hostProcess', detail }
}

export const hostNamespacesCheck: Check = {
  id: 'hostNamespaces',
  level: 'baseline',
  versions: [{ since: 0, find: hostNamespaces }],
}
export const hostPathVolumesCheck: Check = {
  id: 'hostPathVolumes',
  level: 'baseline',
  versions: [{ since: 0, find: hostPathVolumes }],
}
export const hostPortsCheck: Check = { id: 'hostPorts', level: 'baseline', versions: [{ since: 0, find: hostPorts }] }
export const probeHostsCheck: Check = {
  id: 'hostProbesAndHostLifecycle',
  level: 'baseline',
  versions: [{ since: 34, find: probeHosts }],
}
export const windowsHostProcessCheck: Check = {
  id: 'windowsHostProcess',
  level: 'baseline',
  versions: [{ since: 0, find: windowsHostProcess }],
}
