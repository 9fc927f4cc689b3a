import { parseRoles } from './role-text.ts'

/** What the parts of a cluster are given: the scheduler, the controllers as a whole, nodes and what runs on them. */
export const componentRoles = () => parseRoles(TEXT)

/** Rights in one namespace only. */
export const namespacedComponentRoles = () => parseRoles(NAMESPACED)

const NODE = `
system:node
  create -> authentication.k8s.io: tokenreviews
  create -> authorization.k8s.io: localsubjectaccessreviews subjectaccessreviews
  read -> core: services
  create get list watch -> core: nodes
  patch update -> core: nodes/status
  patch update -> core: nodes
  events
  read -> core: pods
  create delete -> core: pods
  patch update -> core: pods/status
  create -> core: pods/eviction
  read -> core: configmaps secrets
  get -> core: persistentvolumeclaims persistentvolumes
  get -> core: endpoints
  create get list watch -> certificates.k8s.io: certificatesigningrequests
  create delete get patch update -> coordination.k8s.io: leases
  get -> storage.k8s.io: volumeattachments
  create -> core: serviceaccounts/token
  get patch update -> core: persistentvolumeclaims/status
  read -> storage.k8s.io: csidrivers
  create delete get patch update -> storage.k8s.io: csinodes
  read -> node.k8s.io: runtimeclasses
  get -> resource.k8s.io: resourceclaims
  deletecollection -> resource.k8s.io: resourceslices
  read -> certificates.k8s.io: clustertrustbundles
  get -> core: serviceaccounts
  create get list watch -> certificates.k8s.io: podcertificaterequests
`

/** What every kubelet may do where it makes no difference which node it is of. */
export const NODE_RULES = parseRoles(NODE)[0]!.rules

const TEXT = `${NODE}
system:kube-controller-manager
  events
  create -> coordination.k8s.io: leases
  get update -> coordination.k8s.io: leases [kube-controller-manager]
  create -> core: secrets serviceaccounts
  delete -> core: secrets
  get -> core: configmaps namespaces secrets serviceaccounts
  update -> core: secrets serviceaccounts
  create -> authentication.k8s.io: tokenreviews
  create -> authorization.k8s.io: subjectaccessreviews
  list watch -> *: *
  create -> core: serviceaccounts/token
system:kube-dns
  list watch -> core: endpoints services
system:kube-scheduler
  events
  create -> coordination.k8s.io: leases
  get list update watch -> coordination.k8s.io: leases [kube-scheduler]
  all -> coordination.k8s.io: leasecandidates
  read -> core: nodes
  delete get list watch -> core: pods
  create -> core: bindings pods/binding
  patch update -> core: pods/status
  read -> core: replicationcontrollers services
  read -> apps,extensions: replicasets
  read -> apps: statefulsets
  read -> policy: poddisruptionbudgets
  read -> core: persistentvolumeclaims persistentvolumes
  create -> authentication.k8s.io: tokenreviews
  create -> authorization.k8s.io: subjectaccessreviews
  read -> storage.k8s.io: csinodes
  read -> storage.k8s.io: volumeattachments
  read -> core: namespaces
  read -> storage.k8s.io: csidrivers
  read -> storage.k8s.io: csistoragecapacities
  read -> resource.k8s.io: deviceclasses
  get list patch update watch -> resource.k8s.io: resourceclaims
  get list patch update watch -> resource.k8s.io: resourceclaims/status
  update -> core: pods/finalizers
  read -> resource.k8s.io: resourceslices
  create delete -> resource.k8s.io: resourceclaims
  read -> resource.k8s.io: devicetaintrules
  patch update -> resource.k8s.io: resourceclaims/binding
system:node-bootstrapper
  create get list watch -> certificates.k8s.io: certificatesigningrequests
system:node-proxier
  list watch -> core: endpoints services
  read -> core: nodes
  events
  list watch -> networking.k8s.io: servicecidrs
  list watch -> discovery.k8s.io: endpointslices
system:volume-scheduler
  get list patch update watch -> core: persistentvolumes
  read -> storage.k8s.io: storageclasses
  get list patch update watch -> core: persistentvolumeclaims
system:coredns
  list watch -> core: endpoints namespaces pods services
  list watch -> discovery.k8s.io: endpointslices
  get -> core: nodes
system:pod-network
  get list watch -> core: namespaces nodes pods
  patch -> core: nodes nodes/status
  get list watch -> networking.k8s.io: networkpolicies
  events
sampan:joining-node
  get -> core: nodes
sampan:node-certificates
  create -> certificates.k8s.io: certificatesigningrequests/selfnodeserver certificatesigningrequests/nodeparts
system:simulated-nodes
  create delete get list patch update watch -> core: nodes
  patch update -> core: nodes/status
  delete get list watch -> core: pods
  patch update -> core: pods/status
  create delete get list patch update watch -> coordination.k8s.io: leases
  events
`

const NAMESPACED = `
kube-public/system:controller:bootstrap-signer
  read -> core: configmaps
  update -> core: configmaps [cluster-info]
  events
kube-public/sampan:cluster-info
  get -> core: configmaps [cluster-info]
kube-system/sampan:node-configuration
  get -> core: configmaps [sampan-configuration]
kube-system/extension-apiserver-authentication-reader
  read -> core: configmaps [extension-apiserver-authentication]
kube-system/system::leader-locking-kube-controller-manager
  create get list update watch -> coordination.k8s.io: leases
  create get list update watch -> coordination.k8s.io: leasecandidates
kube-system/system::leader-locking-kube-scheduler
  create get list update watch -> coordination.k8s.io: leases
  create get list update watch -> coordination.k8s.io: leasecandidates
kube-system/system:coredns
  list watch -> core: configmaps [coredns]
kube-system/system:controller:bootstrap-signer
  read -> core: secrets
kube-system/system:controller:cloud-provider
  create get list watch -> core: configmaps
kube-system/system:controller:token-cleaner
  delete get list watch -> core: secrets
  events
`
