import { describe, expect, it } from 'vitest'
import type { Pod } from '../api/generated/core-v1.ts'
import type { PolicyRule } from '../api/generated/rbac-v1.ts'
import { goodEtcd, goodFacts } from './cis.fixture.ts'
import { cisControls } from './cis-controls.ts'
import { examine, type Verdict } from './control.ts'
import type { CisFacts, FileRole, KubeletFacts, NodeFacts, ObjectFacts, PodProbe, ServerFacts } from './facts.ts'

type Change = (facts: CisFacts) => CisFacts

const server =
  (change: Partial<ServerFacts>): Change =>
  (facts) => ({ ...facts, server: { ...facts.server, ...change } })
const flags =
  (change: Record<string, string>): Change =>
  (facts) =>
    server({ flags: { ...facts.server.flags, ...change } })(facts)
const access =
  (change: Partial<ServerFacts['access']>): Change =>
  (facts) =>
    server({ access: { ...facts.server.access, ...change } })(facts)
const admitted =
  (probe: keyof ServerFacts['admission'], answer = ''): Change =>
  (facts) =>
    server({ admission: { ...facts.server.admission, [probe]: { isAdmitted: true, answer } } })(facts)
const mode =
  (role: FileRole, bits: number): Change =>
  (facts) => ({
    ...facts,
    files: facts.files.map((file) => (file.role === role ? { ...file, mode: bits } : file)),
  })
const foreign =
  (role: FileRole): Change =>
  (facts) => ({
    ...facts,
    files: facts.files.map((file) => (file.role === role ? { ...file, uid: 1000 } : file)),
  })
const without =
  (role: FileRole): Change =>
  (facts) => ({ ...facts, files: facts.files.filter((file) => file.role !== role) })
const node =
  (change: Partial<NodeFacts>): Change =>
  (facts) => ({
    ...facts,
    nodes: facts.nodes.map((one) => ({ ...one, ...change })),
  })
const kubelet =
  (change: Partial<KubeletFacts>): Change =>
  (facts) =>
    node({ kubelet: { ...facts.nodes[0]!.kubelet!, ...change } })(facts)
const kubeletTls =
  (change: Partial<KubeletFacts['tls']>): Change =>
  (facts) =>
    kubelet({ tls: { ...facts.nodes[0]!.kubelet!.tls, ...change } })(facts)
const configuration = (change: NodeFacts['configuration']): Change => node({ configuration: change })
const etcd =
  (change: Partial<NonNullable<CisFacts['etcd']>>): Change =>
  (facts) => ({
    ...facts,
    etcd: { ...goodEtcd(), ...change },
  })
const endpoint = (change: Partial<NonNullable<CisFacts['etcd']>['endpoints'][number]>): Change =>
  etcd({ endpoints: goodEtcd().endpoints.map((one) => ({ ...one, ...change })) })
const objects =
  (change: Partial<ObjectFacts>): Change =>
  (facts) => ({ ...facts, objects: { ...facts.objects, ...change } })
const admits =
  (probe: PodProbe): Change =>
  (facts) =>
    objects({ admits: { ...facts.objects.admits, [probe]: ['shop'] } })(facts)

/** A role that was added, bound to a user. */
const granted = (rule: PolicyRule): Change =>
  objects({
    roles: [{ metadata: { name: 'added' }, rules: [rule] }],
    bindings: [
      {
        metadata: { name: 'joe-added' },
        roleRef: { kind: 'ClusterRole', name: 'added', apiGroup: 'rbac.authorization.k8s.io' },
        subjects: [{ kind: 'User', name: 'joe' }],
      },
    ],
  })
const rule = (verbs: string[], resources: string[], group = ''): PolicyRule => ({
  verbs,
  resources,
  apiGroups: [group],
})
const boundTo = (role: string, subject: { kind: string; name: string; namespace?: string }): Change =>
  objects({
    bindings: [
      {
        metadata: { name: 'added' },
        roleRef: { kind: 'ClusterRole', name: role, apiGroup: 'rbac.authorization.k8s.io' },
        subjects: [subject],
      },
    ],
  })
const pod = (spec: object = {}, namespace = 'shop'): Change =>
  objects({
    pods: [{ metadata: { namespace, name: 'web' }, spec: { containers: [{ name: 'c' }], ...spec } } as Pod],
  })
const secret = (type: string): Change => objects({ secrets: [{ metadata: { namespace: 'shop', name: 's' }, type }] })
const old = (facts: CisFacts) => ({ ...facts.nodes[0]!.clientCertificate!, notAfter: facts.now + 86_400_000 })
const noSeccompDefault = configuration({ podPidsLimit: 4096 })

/** For each control one thing that makes it miss. */
const MISSES: Readonly<Record<string, Change>> = {
  '1.1.1': mode('settings', 0o644),
  '1.1.2': foreign('settings'),
  '1.1.3': mode('settings', 0o640),
  '1.1.4': foreign('settings'),
  '1.1.5': mode('settings', 0o604),
  '1.1.6': foreign('settings'),
  '1.1.9': mode('pod network', 0o644),
  '1.1.10': foreign('pod network'),
  '1.1.11': mode('store', 0o755),
  '1.1.12': foreign('store'),
  '1.1.13': mode('admin kubeconfig', 0o644),
  '1.1.14': foreign('admin kubeconfig'),
  '1.1.15': mode('component kubeconfig', 0o640),
  '1.1.16': foreign('component kubeconfig'),
  '1.1.17': mode('component kubeconfig', 0o640),
  '1.1.18': foreign('component kubeconfig'),
  '1.1.19': foreign('pki'),
  '1.1.20': mode('certificate', 0o664),
  '1.1.21': mode('private key', 0o640),
  '1.2.1': server({ anonymousStatus: 200 }),
  '1.2.2': flags({ 'token-auth-file': '1 tokens' }),
  '1.2.3': admitted('service with external addresses'),
  '1.2.4': kubelet({ anonymousStatus: 200 }),
  '1.2.5': server({ flags: {} }),
  '1.2.6': access({ 'stranger deletes namespaces': true }),
  '1.2.7': access({ 'node reads itself': false }),
  '1.2.8': access({ 'role lets users read the version': false }),
  '1.2.9': flags({ 'enable-admission-plugins': 'NodeRestriction' }),
  '1.2.10': admitted('pod of a missing service account'),
  '1.2.11': admitted('pod that does not pull its image', 'Never'),
  '1.2.12': admitted('pod of a missing service account'),
  '1.2.13': admitted('object in a missing namespace'),
  '1.2.14': admitted('label of another node by a node'),
  '1.2.15': server({ profilingStatus: 200 }),
  '1.2.16': (facts) => ({ ...facts, audit: undefined }),
  '1.2.17': flags({ 'audit-log-maxage': '7' }),
  '1.2.18': flags({ 'audit-log-maxbackup': '3' }),
  '1.2.19': flags({ 'audit-log-maxsize': '10' }),
  '1.2.20': server({ flags: {} }),
  '1.2.21': flags({ 'service-account-lookup': 'false' }),
  '1.2.22': without('private key'),
  '1.2.23': etcd({ hasClientCertificate: false }),
  '1.2.24': (facts) => server({ tls: { ...facts.server.tls, isTrusted: false } })(facts),
  '1.2.25': server({ certificateStatus: 401 }),
  '1.2.26': etcd({ hasAuthority: false }),
  '1.2.27': (facts) => ({ ...facts, encryption: undefined }),
  '1.2.28': (facts) => ({ ...facts, encryption: { path: '/e', firstProviders: { secrets: 'identity' } } }),
  '1.2.29': (facts) => server({ tls: { ...facts.server.tls, weak: ['TLSv1.1'] } })(facts),
  '1.2.30': server({ tokenLifetime: { asked: 3607, got: 31_536_000 } }),
  '1.3.1': (facts) => facts,
  '1.3.2': server({ profilingStatus: 200 }),
  '1.3.3': access({ 'controller manager creates pods': true }),
  '1.3.4': without('private key'),
  '1.3.5': server({ namespacesWithoutRootCa: ['shop'] }),
  '1.3.6': (facts) => kubeletTls({ certificate: old(facts) })(facts),
  '1.3.7': server({ otherListeners: ['0.0.0.0:10257'] }),
  '1.4.1': server({ profilingStatus: 403 }),
  '1.4.2': server({ otherListeners: ['0.0.0.0:10259'] }),
  '2.1': endpoint({ certificate: undefined }),
  '2.2': endpoint({ acceptsAnyClient: true }),
  '2.3': endpoint({ certificate: { ...goodEtcd().endpoints[0]!.certificate!, issuer: 'etcd' } }),
  '2.4': etcd({}),
  '2.5': etcd({}),
  '2.6': etcd({}),
  '2.7': etcd({ isAuthorityShared: true }),
  '3.1.1': objects({ userCertificates: ['joe'] }),
  '3.1.2': secret('kubernetes.io/service-account-token'),
  '3.1.3': secret('bootstrap.kubernetes.io/token'),
  '3.2.1': (facts) => ({ ...facts, audit: { ...facts.audit!, rules: [] } }),
  '3.2.2': (facts) => ({
    ...facts,
    audit: { ...facts.audit!, rules: [{ level: 'Metadata', resources: ['secrets'] }] },
  }),
  '4.1.1': mode('node record', 0o644),
  '4.1.2': foreign('node record'),
  '4.1.3': mode('kube-proxy kubeconfig', 0o644),
  '4.1.4': foreign('kube-proxy kubeconfig'),
  '4.1.5': mode('kubelet kubeconfig', 0o644),
  '4.1.6': foreign('kubelet kubeconfig'),
  '4.1.7': mode('node authority', 0o666),
  '4.1.8': foreign('node authority'),
  '4.1.9': mode('node settings', 0o644),
  '4.1.10': foreign('node settings'),
  '4.2.1': kubelet({ anonymousStatus: 200 }),
  '4.2.2': kubelet({ strangerStatus: 200 }),
  '4.2.3': kubelet({ administratorStatus: 401 }),
  '4.2.4': kubelet({ isReadOnlyPortOpen: true }),
  '4.2.5': configuration({ streamingConnectionIdleTimeout: '0s' }),
  '4.2.7': (facts) => kubeletTls({ certificate: { ...facts.server.tls.certificate, subject: 'system:node:b' } })(facts),
  '4.2.8': configuration({ eventRecordQPS: -1 }),
  '4.2.9': kubeletTls({ isTrusted: false }),
  '4.2.10': (facts) => node({ clientCertificate: old(facts) })(facts),
  '4.2.11': (facts) => kubeletTls({ certificate: old(facts) })(facts),
  '4.2.12': kubeletTls({ weak: ['AES128-SHA'] }),
  '4.2.13': configuration({ podPidsLimit: -1 }),
  '4.2.14': node({ configuration: {}, seccomp: { filtered: 1, unfiltered: 2 } }),
  '4.3.1': kubelet({ isProxyMetricsPortOpen: true }),
  '5.1.1': boundTo('cluster-admin', { kind: 'User', name: 'joe' }),
  '5.1.2': granted(rule(['get'], ['secrets'])),
  '5.1.3': granted(rule(['*'], ['pods'])),
  '5.1.4': granted(rule(['create'], ['pods'])),
  '5.1.5': boundTo('view', { kind: 'ServiceAccount', name: 'default', namespace: 'shop' }),
  '5.1.6': pod({ serviceAccountName: 'web' }),
  '5.1.7': boundTo('view', { kind: 'Group', name: 'system:masters' }),
  '5.1.8': granted(rule(['impersonate'], ['users'])),
  '5.1.9': granted(rule(['create'], ['persistentvolumes'])),
  '5.1.10': granted(rule(['get'], ['nodes/proxy'])),
  '5.1.11': granted(rule(['update'], ['certificatesigningrequests/approval'], 'certificates.k8s.io')),
  '5.1.12': granted(rule(['patch'], ['mutatingwebhookconfigurations'], 'admissionregistration.k8s.io')),
  '5.1.13': granted(rule(['create'], ['serviceaccounts/token'])),
  '5.2.1': objects({ namespaces: [{ metadata: { name: 'default' } }], podPolicies: [] }),
  '5.2.2': admits('privileged'),
  '5.2.3': admits('host PID'),
  '5.2.4': admits('host IPC'),
  '5.2.5': admits('host network'),
  '5.2.6': admits('privilege escalation'),
  '5.2.7': admits('root'),
  '5.2.8': admits('NET_RAW'),
  '5.2.9': admits('capabilities'),
  '5.2.10': admits('HostProcess'),
  '5.2.11': admits('host path'),
  '5.2.12': admits('host port'),
  '5.3.1': (facts) => facts,
  '5.3.2': objects({ namespacesWithNetworkPolicy: ['default'] }),
  '5.4.1': pod({ containers: [{ name: 'c', envFrom: [{ secretRef: { name: 's' } }] }] }),
  '5.4.2': (facts) => ({ ...facts, encryption: { path: '/e', firstProviders: { secrets: 'aescbc' } } }),
  '5.5.1': objects({ podPolicies: [] }),
  '5.6.1': objects({ namespaces: [{ metadata: { name: 'default' } }] }),
  '5.6.2': (facts) => noSeccompDefault(pod()(facts)),
  '5.6.3': pod(),
  '5.6.4': pod({}, 'default'),
}

/** Nothing makes these miss: they are about parts that Sampan does not have. */
const NEVER = ['1.1.7', '1.1.8', '4.2.6']
/** These ask for what cannot be seen, so that they never pass. */
const FOR_PEOPLE = ['1.3.1', '2.4', '2.5', '2.6', '3.2.2', '5.3.1', '5.5.1']

const verdictsOf = (facts: CisFacts): Record<string, Verdict> =>
  Object.fromEntries(examine(cisControls, facts).results.map(({ id, verdict }) => [id, verdict]))

it('has the controls of the benchmark, each once', () => {
  expect(cisControls).toHaveLength(131)
  expect(new Set(cisControls.map(({ id }) => id)).size).toBe(131)
  expect(cisControls.filter(({ scored }) => scored)).toHaveLength(65)
  expect([...Object.keys(MISSES), ...NEVER].toSorted()).toEqual(cisControls.map(({ id }) => id).toSorted())
})

describe('a cluster where all is well', () => {
  it.each([
    ['with a store of its own', goodFacts()],
    ['with etcd', { ...goodFacts(), etcd: goodEtcd() }],
  ])('passes: %s', (_, facts) => {
    const others = Object.entries(verdictsOf(facts)).filter(([, verdict]) => verdict !== 'pass')
    const warned = others.filter(([, verdict]) => verdict === 'warn').map(([id]) => id)
    expect(warned).toEqual(FOR_PEOPLE.filter((id) => facts.etcd || !id.startsWith('2.')))
    expect(others.filter(([, verdict]) => verdict === 'fail')).toEqual([])
  })
})

describe('a control is missed', () => {
  it.each(Object.entries(MISSES))('%s', (id, change) => {
    const { scored } = cisControls.find((control) => control.id === id)!
    const isUnseen = FOR_PEOPLE.includes(id)
    const { results } = examine(cisControls, change(goodFacts()))
    const result = results.find((one) => one.id === id)!
    expect(result.verdict).toBe(scored && !isUnseen ? 'fail' : 'warn')
    expect(result.remedy).not.toBe('')
    expect(result.evidence).not.toBe('')
  })
})

it('warns of what cannot be seen, also where it counts', () => {
  expect(verdictsOf(node({ kubelet: undefined })(goodFacts()))).toMatchObject({ '4.2.1': 'warn', '4.3.1': 'warn' })
  expect(verdictsOf({ ...goodFacts(), nodes: [] })).toMatchObject({
    '4.2.1': 'not applicable',
    '1.2.4': 'not applicable',
  })
})

it('leaves alone what a role gives for named objects', () => {
  const named = granted({ ...rule(['get'], ['secrets']), resourceNames: ['one'] })
  expect(verdictsOf(named(goodFacts()))['5.1.2']).toBe('pass')
})
