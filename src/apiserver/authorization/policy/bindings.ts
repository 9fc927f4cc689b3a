import { NAMESPACE } from '../../../api/meta/well-known.ts'

/** Who has which of the default roles: users, groups, and service accounts as `namespace/name`. */
export interface DefaultBinding {
  readonly name: string
  readonly namespace?: string
  readonly role: string
  readonly users?: readonly string[]
  readonly groups?: readonly string[]
  readonly serviceAccounts?: readonly string[]
}

const AUTHENTICATED = 'system:authenticated'
const SERVICE_ACCOUNTS = 'system:serviceaccounts'
const CONTROLLER_MANAGER = 'system:kube-controller-manager'
const REQUESTS = 'system:certificates.k8s.io:certificatesigningrequests'
const SCHEDULER = 'system:kube-scheduler'

/** Bindings of a role to the name that it has itself. */
const named = (name: string, subjects: Omit<DefaultBinding, 'name' | 'role'>): DefaultBinding => ({
  name,
  role: name,
  ...subjects,
})

export const CLUSTER_BINDINGS: readonly DefaultBinding[] = [
  named('cluster-admin', { groups: ['system:masters'] }),
  named('system:monitoring', { groups: ['system:monitoring'] }),
  named('system:discovery', { groups: [AUTHENTICATED] }),
  named('system:basic-user', { groups: [AUTHENTICATED] }),
  named('system:public-info-viewer', { groups: [AUTHENTICATED, 'system:unauthenticated'] }),
  named('system:node-proxier', { users: ['system:kube-proxy'] }),
  named(CONTROLLER_MANAGER, { users: [CONTROLLER_MANAGER] }),
  named('system:kube-dns', { serviceAccounts: ['kube-system/kube-dns'] }),
  named(SCHEDULER, { users: [SCHEDULER] }),
  named('system:volume-scheduler', { users: [SCHEDULER] }),
  // Nodes have their rights from the node authorizer, each for itself; nobody is bound to the role.
  named('system:node', {}),
  named('system:service-account-issuer-discovery', { groups: [SERVICE_ACCOUNTS] }),
  named('system:cluster-trust-bundle-discovery', { groups: [SERVICE_ACCOUNTS] }),
  named('system:coredns', { users: ['system:coredns'], serviceAccounts: ['kube-system/coredns'] }),
  named('system:pod-network', { users: ['system:pod-network'] }),
  named('system:simulated-nodes', { users: ['system:simulated-nodes'] }),
  // A machine that was given a bootstrap token may ask for the certificate of a node, and a node for its next one.
  { name: 'sampan:node-bootstrapper', role: 'system:node-bootstrapper', groups: ['system:bootstrappers'] },
  { name: 'sampan:node-approval', role: `${REQUESTS}:nodeclient`, groups: ['system:bootstrappers'] },
  { name: 'sampan:node-renewal', role: `${REQUESTS}:selfnodeclient`, groups: ['system:nodes'] },
  // Whether a name is taken already, it may ask too; and a node for the other certificates of its machine.
  named('sampan:joining-node', { groups: ['system:bootstrappers'] }),
  named('sampan:node-certificates', { groups: ['system:nodes'] }),
]

const inNamespace = (
  namespace: string,
  name: string,
  subjects: Omit<DefaultBinding, 'name' | 'role' | 'namespace'>,
  role = name,
): DefaultBinding => ({ name, namespace, role, ...subjects })

export const NAMESPACE_BINDINGS: readonly DefaultBinding[] = [
  inNamespace(NAMESPACE.public, 'sampan:cluster-info', { groups: [AUTHENTICATED, 'system:unauthenticated'] }),
  inNamespace(NAMESPACE.system, 'sampan:node-configuration', { groups: ['system:bootstrappers', 'system:nodes'] }),
  inNamespace(NAMESPACE.public, 'system:controller:bootstrap-signer', {
    serviceAccounts: ['kube-system/bootstrap-signer'],
  }),
  inNamespace(NAMESPACE.system, 'system:controller:bootstrap-signer', {
    serviceAccounts: ['kube-system/bootstrap-signer'],
  }),
  inNamespace(NAMESPACE.system, 'system:controller:cloud-provider', {
    serviceAccounts: ['kube-system/cloud-provider'],
  }),
  inNamespace(NAMESPACE.system, 'system:controller:token-cleaner', { serviceAccounts: ['kube-system/token-cleaner'] }),
  inNamespace(NAMESPACE.system, 'system::leader-locking-kube-controller-manager', {
    users: [CONTROLLER_MANAGER],
    serviceAccounts: ['kube-system/kube-controller-manager', 'kube-system/leader-election-controller'],
  }),
  inNamespace(NAMESPACE.system, 'system::leader-locking-kube-scheduler', {
    users: [SCHEDULER],
    serviceAccounts: ['kube-system/kube-scheduler'],
  }),
  inNamespace(NAMESPACE.system, 'system:coredns', {
    users: ['system:coredns'],
    serviceAccounts: ['kube-system/coredns'],
  }),
  inNamespace(
    NAMESPACE.system,
    'system::extension-apiserver-authentication-reader',
    { users: [CONTROLLER_MANAGER, SCHEDULER] },
    'extension-apiserver-authentication-reader',
  ),
]
