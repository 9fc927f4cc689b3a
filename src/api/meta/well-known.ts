/** Names of Kubernetes that more than one file needs: written here once, by their meaning. */

/** Namespaces that every cluster has. */
export const NAMESPACE = {
  system: 'kube-system',
  public: 'kube-public',
  nodeLease: 'kube-node-lease',
} as const

/** Labels. */
export const LABEL = {
  hostname: 'kubernetes.io/hostname',
  os: 'kubernetes.io/os',
  arch: 'kubernetes.io/arch',
  betaOs: 'beta.kubernetes.io/os',
  betaArch: 'beta.kubernetes.io/arch',
  betaInstanceType: 'beta.kubernetes.io/instance-type',
  zone: 'topology.kubernetes.io/zone',
  region: 'topology.kubernetes.io/region',
  betaZone: 'failure-domain.beta.kubernetes.io/zone',
  betaRegion: 'failure-domain.beta.kubernetes.io/region',
  bootstrapping: 'kubernetes.io/bootstrapping',
  master: 'node-role.kubernetes.io/master',
  serviceName: 'kubernetes.io/service-name',
  headless: 'service.kubernetes.io/headless',
  sliceManagedBy: 'endpointslice.kubernetes.io/managed-by',
  skipMirror: 'endpointslice.kubernetes.io/skip-mirror',
  endpointsManagedBy: 'endpoints.kubernetes.io/managed-by',
  ipFamily: 'ipaddress.kubernetes.io/ip-family',
  ipAddressManagedBy: 'ipaddress.kubernetes.io/managed-by',
} as const

/** Annotations, and keys of extra user information. */
export const ANNOTATION = {
  lastApplied: 'kubectl.kubernetes.io/last-applied-configuration',
  mirrorPod: 'kubernetes.io/config.mirror',
  initialEventsEnd: 'k8s.io/initial-events-end',
  lastChangeTriggerTime: 'endpoints.kubernetes.io/last-change-trigger-time',
  podDeletionCost: 'controller.kubernetes.io/pod-deletion-cost',
  enforceMountableSecrets: 'kubernetes.io/enforce-mountable-secrets',
  ingressClass: 'kubernetes.io/ingress.class',
  isDefaultIngressClass: 'ingressclass.kubernetes.io/is-default-class',
  isDefaultStorageClass: 'storageclass.kubernetes.io/is-default-class',
  betaIsDefaultStorageClass: 'storageclass.beta.kubernetes.io/is-default-class',
  betaStorageClass: 'volume.beta.kubernetes.io/storage-class',
  selectedNode: 'volume.kubernetes.io/selected-node',
  controllerManagedAttachDetach: 'volumes.kubernetes.io/controller-managed-attach-detach',
  bindCompleted: 'pv.kubernetes.io/bind-completed',
  boundByController: 'pv.kubernetes.io/bound-by-controller',
  provisionedBy: 'pv.kubernetes.io/provisioned-by',
  alphaSeccomp: 'seccomp.security.alpha.kubernetes.io/pod',
  topologyAwareHints: 'service.kubernetes.io/topology-aware-hints',
  topologyMode: 'service.kubernetes.io/topology-mode',
  serviceAccountName: 'kubernetes.io/service-account.name',
  serviceAccountUid: 'kubernetes.io/service-account.uid',
  credentialId: 'authentication.kubernetes.io/credential-id',
} as const

/** Taints that the control plane sets on nodes. */
export const TAINT = {
  notReady: 'node.kubernetes.io/not-ready',
  unreachable: 'node.kubernetes.io/unreachable',
  unschedulable: 'node.kubernetes.io/unschedulable',
  memoryPressure: 'node.kubernetes.io/memory-pressure',
  diskPressure: 'node.kubernetes.io/disk-pressure',
  pidPressure: 'node.kubernetes.io/pid-pressure',
  networkUnavailable: 'node.kubernetes.io/network-unavailable',
  outOfService: 'node.kubernetes.io/out-of-service',
} as const

/** Finalizers that keep storage objects while they are in use. */
export const FINALIZER = {
  volume: 'kubernetes.io/pv-protection',
  claim: 'kubernetes.io/pvc-protection',
  attributesClass: 'kubernetes.io/vac-protection',
} as const

/** Types of Secrets. */
export const SECRET_TYPE = {
  serviceAccountToken: 'kubernetes.io/service-account-token',
  bootstrapToken: 'bootstrap.kubernetes.io/token',
  dockerConfigJson: 'kubernetes.io/dockerconfigjson',
  tls: 'kubernetes.io/tls',
} as const

/** Names of certificate signers. */
export const SIGNER = {
  apiserverClient: 'kubernetes.io/kube-apiserver-client',
  kubeletServing: 'kubernetes.io/kubelet-serving',
} as const

/** Names of volume provisioners. */
export const PROVISIONER = {
  none: 'kubernetes.io/no-provisioner',
} as const
