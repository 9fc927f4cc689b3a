/** 1.3 and 1.4: controllers and scheduler. Both are part of the server's process and listen nowhere. */
import { passIf, unknown } from '../control.ts'
import type { CisFacts } from '../facts.ts'
import { isFresh } from './certificates.ts'
import { advised, onNodes, scored } from './rows.ts'

const NOT_FOUND = 404
const REPORT = 'report it as a bug: no flag turns this off'

const noProfiles = ({ server }: CisFacts) =>
  passIf(server.profilingStatus === NOT_FOUND, `GET /debug/pprof/ of the one process: ${server.profilingStatus}`)

const noListeners = ({ server: { otherListeners } }: CisFacts) =>
  passIf(
    otherListeners.length === 0,
    otherListeners.length === 0
      ? 'the process listens for the API alone'
      : `the process also listens at ${otherListeners.join(', ')}`,
  )

export const controllers = [
  advised(
    '1.3.1',
    'Finished pods are removed before there are too many',
    'set ttlSecondsAfterFinished on Jobs',
    ({ objects }) => {
      const finished = objects.pods.filter(({ status }) => status?.phase === 'Succeeded' || status?.phase === 'Failed')
      return unknown(`${finished.length} pods are finished`)
    },
  ),
  scored('1.3.2', 'Profiles of controllers are not served', REPORT, noProfiles),
  scored('1.3.3', 'Each controller has rights of its own', REPORT, ({ server }) => {
    const mayCreate = server.access['controller manager creates pods']
    return passIf(
      !mayCreate,
      `system:kube-controller-manager ${mayCreate ? 'may' : 'may not'} create pods: that is for the service accounts of controllers`,
    )
  }),
  scored(
    '1.3.4',
    'Controllers sign tokens with the key of the cluster',
    REPORT,
    ({ server: { tokenLifetime }, files }) => {
      const key = files.find(({ path }) => path.endsWith('/service-account.key'))
      return passIf(
        key !== undefined && tokenLifetime.got > 0,
        key ? `a token was issued; ${key.path} is there` : 'there is no service-account.key',
      )
    },
  ),
  scored(
    '1.3.5',
    'Pods are given the authority of the API server',
    REPORT,
    ({ server: { namespacesWithoutRootCa: without } }) =>
      passIf(
        without.length === 0,
        without.length === 0
          ? 'kube-root-ca.crt is in every namespace'
          : `kube-root-ca.crt is missing or another one in ${without.join(', ')}`,
      ),
  ),
  scored(
    '1.3.6',
    'Serving certificates of kubelets are renewed',
    REPORT,
    onNodes(({ kubelet }, { now }) => kubelet && isFresh(kubelet.tls.certificate, now)),
  ),
  scored('1.3.7', 'Controllers do not listen on the network', REPORT, noListeners),
  scored('1.4.1', 'Profiles of the scheduler are not served', REPORT, noProfiles),
  scored('1.4.2', 'The scheduler does not listen on the network', REPORT, noListeners),
]
