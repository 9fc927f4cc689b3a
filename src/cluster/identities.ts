import { NAMESPACE } from '../api/meta/well-known.ts'
import { AUTHENTICATED, serviceAccountIdentity, type UserInfo } from '../apiserver/identity.ts'
import type { ClusterCertificates, KeyPair } from './certificates.ts'

export const ADMINISTRATOR: UserInfo = { name: 'kubernetes-admin', groups: ['system:masters', AUTHENTICATED] }
/** Users that the parts of a control plane act as; the default roles say what they may do. */
export const CONTROLLER_MANAGER: UserInfo = { name: 'system:kube-controller-manager', groups: [AUTHENTICATED] }
export const SCHEDULER: UserInfo = { name: 'system:kube-scheduler', groups: [AUTHENTICATED] }
/** The API server as a client of kubelets. */
export const API_SERVER_KUBELET_CLIENT = { name: 'kube-apiserver-kubelet-client', groups: ['system:masters'] }
/** One user for all of them: they are in one process and share what they read. */
export const SIMULATED_NODES: UserInfo = { name: 'system:simulated-nodes', groups: [AUTHENTICATED] }

/** Service accounts of controllers that are called otherwise than the controller. */
const SERVICE_ACCOUNTS: Readonly<Record<string, string>> = {
  'garbage-collector-controller': 'generic-garbage-collector',
  'bootstrap-signer-controller': 'bootstrap-signer',
  'serviceaccount-controller': 'service-account-controller',
  'root-ca-certificate-publisher-controller': 'root-ca-cert-publisher',
  'pod-garbage-collector-controller': 'pod-garbage-collector',
  'endpoints-controller': 'endpoint-controller',
  'endpointslice-mirroring-controller': 'endpointslicemirroring-controller',
  'node-lifecycle-controller': 'node-controller',
  'taint-eviction-controller': 'node-controller',
  'node-ipam-controller': 'node-controller',
  'daemonset-controller': 'daemon-set-controller',
  'replicationcontroller-controller': 'replication-controller',
  'certificatesigningrequest-signing-controller': 'certificate-controller',
  'certificatesigningrequest-approving-controller': 'certificate-controller',
  'certificatesigningrequest-cleaner-controller': 'certificate-controller',
  'horizontal-pod-autoscaler-controller': 'horizontal-pod-autoscaler',
  'persistentvolume-binder-controller': 'persistent-volume-binder',
  'persistentvolume-expander-controller': 'expand-controller',
  'persistentvolume-attach-detach-controller': 'attachdetach-controller',
  'persistentvolumeclaim-protection-controller': 'pvc-protection-controller',
  'persistentvolume-protection-controller': 'pv-protection-controller',
  'service-cidr-controller': 'service-cidrs-controller',
  'service-lb-controller': 'service-controller',
  'kube-apiserver-serving-clustertrustbundle-publisher-controller':
    'kube-apiserver-serving-clustertrustbundle-publisher',
}

/** Each controller acts as a service account of its own, with the rights of its own work. */
export const controllerIdentity = (controller: string): UserInfo =>
  serviceAccountIdentity(NAMESPACE.system, SERVICE_ACCOUNTS[controller] ?? controller)

/** A certificate by which a client shows that it is this user of these groups. */
export const issueClientCertificate = (
  certificates: ClusterCertificates,
  { name, groups }: { readonly name: string; readonly groups: readonly string[] },
): KeyPair => certificates.issueClient(name, groups)
