import type { HttpTransport } from '../../client/http-transport.ts'
import type { PodProbe } from '../facts.ts'
import { tryToCreate } from './access.ts'

/** More namespaces than this are not tried: it would take long. */
const MOST_NAMESPACES = 50

const SAFE = { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } }
const SAFE_POD = { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } }

const linux = (container: object, spec: object = {}) => ({
  securityContext: SAFE_POD,
  containers: [{ name: 'c', image: 'sampan.local/host', securityContext: { ...SAFE, ...container } }],
  ...spec,
})
const withContainer = (container: object) => ({
  ...linux({}),
  containers: [{ name: 'c', image: 'sampan.local/host', securityContext: SAFE, ...container }],
})

/** Each asks for one thing too many, and is the most careful pod otherwise. */
const PODS: Readonly<Record<PodProbe, object>> = {
  privileged: linux({ privileged: true, allowPrivilegeEscalation: true }),
  'host PID': linux({}, { hostPID: true }),
  'host IPC': linux({}, { hostIPC: true }),
  'host network': linux({}, { hostNetwork: true }),
  'privilege escalation': linux({ allowPrivilegeEscalation: true }),
  root: linux({ runAsNonRoot: false, runAsUser: 0 }),
  NET_RAW: linux({ capabilities: {} }),
  capabilities: linux({ capabilities: { drop: ['ALL'], add: ['CHOWN'] } }),
  HostProcess: {
    os: { name: 'windows' },
    hostNetwork: true,
    securityContext: { runAsNonRoot: true, windowsOptions: { hostProcess: true } },
    containers: [{ name: 'c', image: 'sampan.local/host' }],
  },
  'host path': linux({}, { volumes: [{ name: 'v', hostPath: { path: '/' } }] }),
  'host port': withContainer({ ports: [{ containerPort: 80, hostPort: 80 }] }),
}

/** Which of these namespaces admit which of these pods. Nothing is created. */
export async function admittedPods(
  api: HttpTransport,
  namespaces: readonly string[],
): Promise<Record<PodProbe, string[]>> {
  const tried = namespaces.slice(0, MOST_NAMESPACES)
  const admits = Object.fromEntries(Object.keys(PODS).map((probe) => [probe, [] as string[]]))
  for (const namespace of tried) {
    const attempts = Object.entries(PODS).map(async ([probe, spec]) => {
      const body = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'sampan-doctor' }, spec }
      const { isAdmitted } = await tryToCreate(api, 'pods', namespace, body)
      if (isAdmitted) admits[probe]!.push(namespace)
    })
    await Promise.all(attempts)
  }
  return admits as Record<PodProbe, string[]>
}
