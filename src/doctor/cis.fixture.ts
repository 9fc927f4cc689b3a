/** A cluster in which every control that applies passes. */
import type { CertificateFact, CisFacts, FileFact, FileRole, TlsFacts } from './facts.ts'

const NOW = Date.UTC(2026, 10, 18)
const DAY = 86_400_000

const certificate = (subject: string): CertificateFact => ({
  subject,
  issuer: 'sampan-ca',
  notBefore: NOW - 10 * DAY,
  notAfter: NOW + 355 * DAY,
})
const tls = (subject: string): TlsFacts => ({ isTrusted: true, weak: [], certificate: certificate(subject) })
const file = (role: FileRole, path: string, mode = 0o600): FileFact => ({ role, path, mode, uid: 0 })
const refused = { isAdmitted: false, answer: 'forbidden' }
const NONE: readonly string[] = []

export function goodFacts(): CisFacts {
  return {
    now: NOW,
    owner: 0,
    files: [
      file('settings', '/d/configuration.json'),
      file('store', '/d/store', 0o700),
      file('admin kubeconfig', '/d/admin.kubeconfig'),
      file('component kubeconfig', '/d/scheduler.kubeconfig'),
      file('pki', '/d/pki', 0o700),
      file('certificate', '/d/pki/ca.crt', 0o644),
      file('private key', '/d/pki/service-account.key'),
      file('pod network', '/d/nodes/a/network/backend'),
      file('node record', '/d/nodes/a/node.json'),
      file('node settings', '/d/nodes/a/settings.json'),
      file('kubelet kubeconfig', '/d/nodes/a/pki/kubelet.kubeconfig'),
      file('kube-proxy kubeconfig', '/d/nodes/a/pki/kube-proxy.kubeconfig'),
      file('node authority', '/d/nodes/a/pki/ca.pem', 0o644),
    ],
    server: {
      anonymousStatus: 401,
      certificateStatus: 200,
      profilingStatus: 404,
      tls: tls('kube-apiserver'),
      flags: {
        'audit-log-maxage': '30',
        'audit-log-maxbackup': '10',
        'audit-log-maxsize': '100',
        'enable-admission-plugins': 'NodeRestriction,EventRateLimit',
        'kubelet-certificate-authority': 'cluster',
        'request-timeout': '1m0s',
        'service-account-lookup': 'true',
      },
      otherListeners: [],
      access: {
        'stranger deletes namespaces': false,
        'node reads itself': true,
        'role lets users read the version': true,
        'controller manager creates pods': false,
      },
      admission: {
        'pod of a missing service account': refused,
        'object in a missing namespace': refused,
        'label of another node by a node': refused,
        'service with external addresses': refused,
        'pod that does not pull its image': { isAdmitted: true, answer: 'Always' },
      },
      tokenLifetime: { asked: 3607, got: 3607 },
      namespacesWithoutRootCa: [],
    },
    audit: { logPath: '/d/audit.log', isLogOpen: true, rules: [{ level: 'Metadata', resources: [] }] },
    encryption: { path: '/d/encryption.yaml', firstProviders: { secrets: 'kms' } },
    etcd: undefined,
    nodes: [
      {
        name: 'a',
        kubelet: {
          address: '172.30.0.2',
          anonymousStatus: 401,
          strangerStatus: 403,
          administratorStatus: 200,
          tls: tls('system:node:a'),
          isReadOnlyPortOpen: false,
          isProxyMetricsPortOpen: false,
        },
        configuration: {
          podPidsLimit: 4096,
          seccompDefault: true,
          streamingConnectionIdleTimeout: '4h0m0s',
          eventRecordQPS: 50,
        },
        clientCertificate: certificate('system:node:a'),
        seccomp: { filtered: 3, unfiltered: 0 },
      },
    ],
    objects: {
      namespaces: [
        { metadata: { name: 'kube-system' } },
        { metadata: { name: 'default', labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } } },
        { metadata: { name: 'shop' } },
      ],
      pods: [],
      services: [{ metadata: { namespace: 'default', name: 'kubernetes' } }],
      secrets: [],
      serviceAccounts: [],
      roles: [
        {
          metadata: { name: 'cluster-admin', labels: { 'kubernetes.io/bootstrapping': 'rbac-defaults' } },
          rules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }],
        },
      ],
      bindings: [
        {
          metadata: { name: 'cluster-admin', labels: { 'kubernetes.io/bootstrapping': 'rbac-defaults' } },
          roleRef: { kind: 'ClusterRole', name: 'cluster-admin', apiGroup: 'rbac.authorization.k8s.io' },
          subjects: [{ kind: 'Group', name: 'system:masters' }],
        },
      ],
      namespacesWithNetworkPolicy: ['default', 'shop'],
      userCertificates: [],
      podPolicies: ['images'],
      admits: {
        privileged: NONE,
        'host PID': NONE,
        'host IPC': NONE,
        'host network': NONE,
        'privilege escalation': NONE,
        root: NONE,
        NET_RAW: NONE,
        capabilities: NONE,
        HostProcess: NONE,
        'host path': NONE,
        'host port': NONE,
      },
    },
  }
}

/** The same with etcd as its store. */
export const goodEtcd = (): NonNullable<CisFacts['etcd']> => ({
  endpoints: [{ address: '10.0.0.1:2379', certificate: certificate('etcd'), acceptsAnyClient: false }],
  hasClientCertificate: true,
  hasAuthority: true,
  isAuthorityShared: false,
})
