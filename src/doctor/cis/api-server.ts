/** 1.2: the API server. */
import { miss, notApplicable, pass, passIf, unknown } from '../control.ts'
import type { AccessProbe, AdmissionProbe, CisFacts } from '../facts.ts'
import { advised, type CisControl, scored } from './rows.ts'

const UNAUTHORIZED = 401
const OK = 200
const NOT_FOUND = 404
const AUDIT = 'sampan up --audit-policy FILE'
const REPORT = 'report it as a bug: no flag turns this off'

/** A number in the server's flags, at least so large. */
const atLeast =
  (flag: string, least: number) =>
  ({ server, audit }: CisFacts) => {
    if (!audit) return miss('requests are not audited')
    const value = Number(server.flags[flag] ?? Number.NaN)
    if (Number.isNaN(value)) return unknown(`the server does not tell its ${flag}`)
    return passIf(value >= least, `${flag} is ${value}`)
  }

const flagIs =
  (flag: string, wanted: string) =>
  ({ server }: CisFacts) => {
    const value = server.flags[flag]
    return value === undefined
      ? unknown(`the server does not tell its ${flag}`)
      : passIf(value === wanted, `${flag} is ${value}`)
  }

const allows =
  (probe: AccessProbe, wanted: boolean) =>
  ({ server }: CisFacts) =>
    passIf(server.access[probe] === wanted, `${probe}: ${server.access[probe] ? 'allowed' : 'denied'}`)

const refuses =
  (probe: AdmissionProbe) =>
  ({ server }: CisFacts) => {
    const { isAdmitted, answer } = server.admission[probe]
    return passIf(!isAdmitted, `${probe}: ${isAdmitted ? 'admitted' : `refused: ${answer}`}`)
  }

/** Only where the store is an etcd. */
const ofEtcd =
  (check: (etcd: NonNullable<CisFacts['etcd']>) => ReturnType<CisControl['check']>) =>
  ({ etcd }: CisFacts) =>
    etcd ? check(etcd) : notApplicable('the store is part of the server: nothing goes over a network')

const kubeletsAsked = ({ nodes }: CisFacts) => {
  const reached = nodes.flatMap(({ name, kubelet }) => (kubelet ? [{ name, ...kubelet }] : []))
  if (nodes.length === 0) return notApplicable('there is no node with a kubelet')
  if (reached.length === 0) return unknown('no kubelet can be reached from this machine')
  const open = reached.filter(({ anonymousStatus }) => anonymousStatus !== UNAUTHORIZED)
  return open.length > 0
    ? miss(`kubelets that answer without a certificate: ${open.map(({ name }) => name).join(', ')}`)
    : pass('kubelets answer only those who show a certificate, and the API server gets answers of them')
}

const authentication = [
  advised(
    '1.2.1',
    'Requests without credentials are refused',
    'take anonymous out of --authentication-config',
    ({ server }) =>
      passIf(server.anonymousStatus === UNAUTHORIZED, `GET /api without credentials: ${server.anonymousStatus}`),
  ),
  scored(
    '1.2.2',
    'No tokens are read from a file',
    'leave static tokens out of startCluster({ authentication })',
    ({ server }) =>
      passIf(
        server.flags['token-auth-file'] === undefined,
        `token-auth-file is ${server.flags['token-auth-file'] ?? 'not set'}`,
      ),
  ),
  advised(
    '1.2.3',
    'Services cannot claim addresses outside the cluster',
    'sampan up --enable-admission-plugins DenyServiceExternalIPs',
    refuses('service with external addresses'),
  ),
  scored('1.2.4', 'The API server shows kubelets a certificate', REPORT, kubeletsAsked),
  scored('1.2.5', 'The API server verifies the certificates of kubelets', REPORT, ({ server, nodes }) => {
    if (nodes.length === 0) return notApplicable('there is no node with a kubelet')
    const authority = server.flags['kubelet-certificate-authority']
    return passIf(authority !== undefined, `kubelet-certificate-authority is ${authority ?? 'not set'}`)
  }),
]

const authorization = [
  scored('1.2.6', 'Not every request is allowed', REPORT, allows('stranger deletes namespaces', false)),
  scored('1.2.7', 'Nodes have the rights of nodes alone', REPORT, allows('node reads itself', true)),
  scored('1.2.8', 'Roles decide what users may do', REPORT, allows('role lets users read the version', true)),
]

const admission = [
  advised(
    '1.2.9',
    'Events are limited in number (EventRateLimit)',
    'not offered: all requests of a user are limited instead',
    ({ server }) => {
      const isOn = pluginsOf(server).includes('EventRateLimit')
      return passIf(isOn, `EventRateLimit is ${isOn ? 'on' : 'off'}`)
    },
  ),
  scored('1.2.10', 'Not every object is admitted', REPORT, refuses('pod of a missing service account')),
  advised(
    '1.2.11',
    'Every pod pulls its image anew (AlwaysPullImages)',
    'not offered: set imagePullPolicy: Always by a MutatingAdmissionPolicy',
    ({ server }) => {
      const { isAdmitted, answer } = server.admission['pod that does not pull its image']
      return passIf(isAdmitted && answer === 'Always', `a pod with imagePullPolicy Never becomes ${answer}`)
    },
  ),
  scored('1.2.12', 'Pods need a service account that exists', REPORT, refuses('pod of a missing service account')),
  scored('1.2.13', 'Objects need a namespace that exists', REPORT, refuses('object in a missing namespace')),
  scored('1.2.14', 'Nodes can change themselves alone', REPORT, refuses('label of another node by a node')),
]

const pluginsOf = ({ flags }: CisFacts['server']) => (flags['enable-admission-plugins'] ?? '').split(',')

const logging = [
  scored('1.2.15', 'Profiles of the API server are not served', REPORT, ({ server }) =>
    passIf(server.profilingStatus === NOT_FOUND, `GET /debug/pprof/ as administrator: ${server.profilingStatus}`),
  ),
  scored('1.2.16', 'Requests are written to an audit log', AUDIT, ({ audit }) =>
    audit
      ? passIf(audit.isLogOpen, `${audit.logPath} is ${audit.isLogOpen ? 'open in' : 'not open in'} the server`)
      : miss('requests are not audited'),
  ),
  scored('1.2.17', 'Audit logs are kept for 30 days', AUDIT, atLeast('audit-log-maxage', 30)),
  scored('1.2.18', 'Ten audit logs are kept', AUDIT, atLeast('audit-log-maxbackup', 10)),
  scored('1.2.19', 'Audit logs are put aside at 100 MB', AUDIT, atLeast('audit-log-maxsize', 100)),
  advised(
    '1.2.20',
    'Requests end after a time that fits the cluster',
    'clients choose with ?timeout=',
    ({ server }) => {
      const timeout = server.flags['request-timeout']
      return timeout === undefined
        ? unknown('the server does not tell its request-timeout')
        : pass(`request-timeout is ${timeout}`)
    },
  ),
]

const credentials = [
  scored('1.2.21', 'Tokens end with their service account', REPORT, flagIs('service-account-lookup', 'true')),
  scored(
    '1.2.22',
    'Tokens are signed with a key of their own',
    'sampan up makes pki/service-account.key',
    ({ files }) => {
      const key = files.find(({ path }) => path.endsWith('/service-account.key'))
      return passIf(key !== undefined, key ? `${key.path} is there` : 'there is no service-account.key')
    },
  ),
  scored(
    '1.2.23',
    'etcd gets a certificate of the API server',
    'sampan up --etcd-cert FILE --etcd-key FILE',
    ofEtcd(({ hasClientCertificate }) =>
      passIf(hasClientCertificate, `a client certificate is ${hasClientCertificate ? 'set' : 'not set'}`),
    ),
  ),
  scored('1.2.24', 'The API is served by TLS with a certificate of the cluster', REPORT, ({ server: { tls } }) =>
    passIf(
      tls.isTrusted,
      `${tls.certificate.subject}, signed by ${tls.certificate.issuer}${tls.isTrusted ? '' : ', is not trusted'}`,
    ),
  ),
  scored('1.2.25', 'Client certificates are verified', REPORT, ({ server }) =>
    passIf(
      server.certificateStatus === OK && server.anonymousStatus === UNAUTHORIZED,
      `GET /api with a certificate of the cluster: ${server.certificateStatus}, without: ${server.anonymousStatus}`,
    ),
  ),
  scored(
    '1.2.26',
    'The API server verifies etcd',
    'sampan up --etcd-ca FILE',
    ofEtcd(({ hasAuthority }) => passIf(hasAuthority, `an authority for etcd is ${hasAuthority ? 'set' : 'not set'}`)),
  ),
]

const ENCRYPT = 'sampan up --encryption-config FILE'
const STRONG_PROVIDERS = ['aescbc', 'aesgcm', 'kms', 'secretbox']

const cryptography = [
  advised('1.2.27', 'Secrets are encrypted in the store', ENCRYPT, ({ encryption }) =>
    passIf(
      encryption?.firstProviders.secrets !== undefined,
      encryption
        ? `${encryption.path} names ${Object.keys(encryption.firstProviders).join(', ')}`
        : 'nothing is encrypted',
    ),
  ),
  advised('1.2.28', 'Encryption uses a strong provider', ENCRYPT, ({ encryption }) => {
    if (!encryption) return miss('nothing is encrypted')
    const weak = Object.entries(encryption.firstProviders).filter(
      ([, provider]) => !STRONG_PROVIDERS.includes(provider),
    )
    return passIf(
      weak.length === 0,
      Object.entries(encryption.firstProviders)
        .map((pair) => pair.join(': '))
        .join(', '),
    )
  }),
  advised('1.2.29', 'The API server offers strong ciphers alone', REPORT, ({ server: { tls } }) =>
    passIf(
      tls.weak.length === 0,
      tls.weak.length === 0 ? 'old protocols and weak cipher suites are refused' : `accepts ${tls.weak.join(', ')}`,
    ),
  ),
  scored(
    '1.2.30',
    'Tokens of pods live no longer than was asked for',
    REPORT,
    ({
      server: {
        tokenLifetime: { asked, got },
      },
    }) => passIf(got <= asked, `asked for ${asked} s, got ${got} s`),
  ),
]

export const apiServer = [
  ...authentication,
  ...authorization,
  ...admission,
  ...logging,
  ...credentials,
  ...cryptography,
]
