/** 4: nodes: their files, the kubelet and the service proxy. */
import { notApplicable } from '../control.ts'
import { isFresh } from './certificates.ts'
import { advised, modes, onNodes, owners, scored } from './rows.ts'

const CHMOD = 'chmod go-rwx FILE'
const CHOWN = 'chown USER FILE, with the user that runs sampan'
const REPORT = 'report it as a bug: no flag turns this off'
const UNAUTHORIZED = 401
const FORBIDDEN = 403
const OK = 200

const files = [
  scored('4.1.1', 'Only its owner can change how the kubelet starts', CHMOD, modes(0o600, 'node record')),
  scored('4.1.2', 'What the kubelet starts with belongs to its user', CHOWN, owners('node record')),
  advised(
    '4.1.3',
    'Only its owner can read the credentials of kube-proxy',
    CHMOD,
    modes(0o600, 'kube-proxy kubeconfig'),
  ),
  advised('4.1.4', 'The credentials of kube-proxy belong to their user', CHOWN, owners('kube-proxy kubeconfig')),
  scored('4.1.5', 'Only its owner can read the credentials of the kubelet', CHMOD, modes(0o600, 'kubelet kubeconfig')),
  scored('4.1.6', 'The credentials of the kubelet belong to their user', CHOWN, owners('kubelet kubeconfig')),
  advised(
    '4.1.7',
    'Only its owner can change the authority of the kubelet',
    'chmod 644 FILE',
    modes(0o644, 'node authority'),
  ),
  advised('4.1.8', 'The authority of the kubelet belongs to its user', CHOWN, owners('node authority')),
  scored('4.1.9', 'Only its owner can change the configuration of the kubelet', CHMOD, modes(0o600, 'node settings')),
  scored('4.1.10', 'The configuration of the kubelet belongs to its user', CHOWN, owners('node settings')),
]

const kubelet = [
  scored(
    '4.2.1',
    'Kubelets refuse requests without credentials',
    REPORT,
    onNodes(
      ({ kubelet: port }) =>
        port && {
          isGood: port.anonymousStatus === UNAUTHORIZED,
          evidence: `GET /pods without credentials: ${port.anonymousStatus}`,
        },
    ),
  ),
  scored(
    '4.2.2',
    'Kubelets do not let everyone in',
    REPORT,
    onNodes(({ kubelet: port }) =>
      port?.strangerStatus === undefined
        ? undefined
        : {
            isGood: port.strangerStatus === FORBIDDEN,
            evidence: `GET /pods with the certificate of kube-proxy: ${port.strangerStatus}`,
          },
    ),
  ),
  scored(
    '4.2.3',
    'Kubelets verify client certificates',
    REPORT,
    onNodes(
      ({ kubelet: port }) =>
        port && {
          isGood: port.administratorStatus === OK && port.anonymousStatus === UNAUTHORIZED,
          evidence: `GET /pods with the certificate of the administrator: ${port.administratorStatus}, without: ${port.anonymousStatus}`,
        },
    ),
  ),
  advised(
    '4.2.4',
    'Kubelets have no port that asks for no credentials',
    REPORT,
    onNodes(
      ({ kubelet: port }) =>
        port && {
          isGood: !port.isReadOnlyPortOpen,
          evidence: `port 10255 is ${port.isReadOnlyPortOpen ? 'open' : 'closed'}`,
        },
    ),
  ),
  advised(
    '4.2.5',
    'Idle streams end some time',
    'no flag: the connection ends with its client',
    onNodes(({ configuration: { streamingConnectionIdleTimeout: timeout } }) =>
      timeout === undefined
        ? undefined
        : { isGood: timeout !== '0s', evidence: `streamingConnectionIdleTimeout is ${timeout}` },
    ),
  ),
  scored('4.2.6', 'The node keeps the chains of iptables that it needs', 'sampan up --proxy-mode iptables', () =>
    notApplicable('the service proxy makes all rules of iptables itself'),
  ),
  advised(
    '4.2.7',
    'A kubelet has the name that its certificate says',
    REPORT,
    onNodes(
      ({ name, kubelet: port }) =>
        port && {
          isGood: port.tls.certificate.subject === `system:node:${name}`,
          evidence: `the certificate is for ${port.tls.certificate.subject}`,
        },
    ),
  ),
  advised(
    '4.2.8',
    'Kubelets write enough events',
    'no flag: events are joined, none is dropped',
    onNodes(({ configuration: { eventRecordQPS } }) =>
      eventRecordQPS === undefined
        ? undefined
        : { isGood: eventRecordQPS >= 0, evidence: `eventRecordQPS is ${eventRecordQPS}` },
    ),
  ),
  advised(
    '4.2.9',
    'Kubelets serve TLS with a certificate of the cluster',
    REPORT,
    onNodes(
      ({ kubelet: port }) =>
        port && {
          isGood: port.tls.isTrusted,
          evidence: `signed by ${port.tls.certificate.issuer}${port.tls.isTrusted ? '' : ', not trusted'}`,
        },
    ),
  ),
  scored(
    '4.2.10',
    'Client certificates of kubelets are renewed',
    REPORT,
    onNodes(({ clientCertificate }, { now }) => clientCertificate && isFresh(clientCertificate, now)),
  ),
  advised(
    '4.2.11',
    'Serving certificates of kubelets are renewed',
    REPORT,
    onNodes(({ kubelet: port }, { now }) => port && isFresh(port.tls.certificate, now)),
  ),
  advised(
    '4.2.12',
    'Kubelets offer strong ciphers alone',
    REPORT,
    onNodes(
      ({ kubelet: port }) =>
        port && {
          isGood: port.tls.weak.length === 0,
          evidence:
            port.tls.weak.length === 0 ? 'weak cipher suites are refused' : `accepts ${port.tls.weak.join(', ')}`,
        },
    ),
  ),
  advised(
    '4.2.13',
    'Pods are limited in processes',
    REPORT,
    onNodes(({ configuration: { podPidsLimit } }) =>
      podPidsLimit === undefined
        ? undefined
        : { isGood: podPidsLimit > 0, evidence: `podPidsLimit is ${podPidsLimit}` },
    ),
  ),
  advised(
    '4.2.14',
    'Containers have a seccomp profile unless they say otherwise',
    'set seccompProfile: RuntimeDefault on pods',
    onNodes(({ configuration: { seccompDefault }, seccomp }) => {
      if (seccompDefault !== undefined)
        return { isGood: seccompDefault, evidence: `seccompDefault is ${seccompDefault}` }
      return (
        seccomp && {
          isGood: seccomp.unfiltered === 0,
          evidence: `${seccomp.filtered} processes of pods have a filter, ${seccomp.unfiltered} have none`,
        }
      )
    }),
  ),
]

const proxy = [
  scored(
    '4.3.1',
    'The metrics of kube-proxy are for this machine alone',
    REPORT,
    onNodes(
      ({ kubelet: port }) =>
        port && {
          isGood: !port.isProxyMetricsPortOpen,
          evidence: `port 10249 of ${port.address} is ${port.isProxyMetricsPortOpen ? 'open' : 'closed'}`,
        },
    ),
  ),
]

export const nodes = [...files, ...kubelet, ...proxy]
