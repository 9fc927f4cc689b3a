import { parseRoles } from './role-text.ts'

/** What people and their tools are given: who may look, who may work, who may administer. */
export const userRoles = () => parseRoles(TEXT)

/** Roles that are the sum of others, and the label of those: whoever adds a kind adds a role with the label. */
export const AGGREGATED_ROLES: readonly { name: string; selects: string; labels: readonly string[] }[] = [
  { name: 'admin', selects: 'aggregate-to-admin', labels: [] },
  { name: 'edit', selects: 'aggregate-to-edit', labels: ['aggregate-to-admin'] },
  { name: 'view', selects: 'aggregate-to-view', labels: ['aggregate-to-edit'] },
]

const TEXT = `
cluster-admin
  * -> *: *
  * -> *
system:aggregate-to-admin (aggregate-to-admin)
  create -> authorization.k8s.io: localsubjectaccessreviews
  all -> rbac.authorization.k8s.io: rolebindings roles
system:aggregate-to-edit (aggregate-to-edit)
  read -> core: pods/attach pods/exec pods/portforward pods/proxy secrets services/proxy
  impersonate -> core: serviceaccounts
  write -> core: pods pods/attach pods/exec pods/portforward pods/proxy
  create -> core: pods/eviction
  write -> core: configmaps persistentvolumeclaims replicationcontrollers replicationcontrollers/scale secrets
    serviceaccounts services services/proxy
  create -> core: serviceaccounts/token
  write -> core,events.k8s.io: events
  write -> apps: daemonsets deployments deployments/rollback deployments/scale replicasets replicasets/scale
    statefulsets statefulsets/scale
  write -> autoscaling: horizontalpodautoscalers
  write -> batch: cronjobs jobs
  write -> extensions: daemonsets deployments deployments/rollback deployments/scale ingresses networkpolicies
    replicasets replicasets/scale replicationcontrollers/scale
  write -> policy: poddisruptionbudgets
  write -> networking.k8s.io: ingresses networkpolicies
  all -> coordination.k8s.io: leases
  write -> resource.k8s.io: resourceclaims resourceclaimtemplates
system:aggregate-to-view (aggregate-to-view)
  read -> core: configmaps endpoints persistentvolumeclaims persistentvolumeclaims/status pods
    replicationcontrollers replicationcontrollers/scale serviceaccounts services services/status
  read -> core: bindings limitranges namespaces/status pods/log pods/status replicationcontrollers/status
    resourcequotas resourcequotas/status
  read -> core: namespaces
  read -> core,events.k8s.io: events
  read -> discovery.k8s.io: endpointslices
  read -> apps: controllerrevisions daemonsets daemonsets/status deployments deployments/scale deployments/status
    replicasets replicasets/scale replicasets/status statefulsets statefulsets/scale statefulsets/status
  read -> autoscaling: horizontalpodautoscalers horizontalpodautoscalers/status
  read -> batch: cronjobs cronjobs/status jobs jobs/status
  read -> extensions: daemonsets daemonsets/status deployments deployments/scale deployments/status ingresses
    ingresses/status networkpolicies replicasets replicasets/scale replicasets/status replicationcontrollers/scale
  read -> policy: poddisruptionbudgets poddisruptionbudgets/status
  read -> networking.k8s.io: ingresses ingresses/status networkpolicies
  read -> resource.k8s.io: resourceclaims resourceclaims/status resourceclaimtemplates
system:auth-delegator
  create -> authentication.k8s.io: tokenreviews
  create -> authorization.k8s.io: subjectaccessreviews
system:basic-user
  create -> authorization.k8s.io: selfsubjectaccessreviews selfsubjectrulesreviews
  create -> authentication.k8s.io: selfsubjectreviews
system:certificates.k8s.io:certificatesigningrequests:nodeclient
  create -> certificates.k8s.io: certificatesigningrequests/nodeclient
system:certificates.k8s.io:certificatesigningrequests:selfnodeclient
  create -> certificates.k8s.io: certificatesigningrequests/selfnodeclient
system:certificates.k8s.io:kube-apiserver-client-approver
  approve -> certificates.k8s.io: signers [kubernetes.io/kube-apiserver-client]
system:certificates.k8s.io:kube-apiserver-client-kubelet-approver
  approve -> certificates.k8s.io: signers [kubernetes.io/kube-apiserver-client-kubelet]
system:certificates.k8s.io:kubelet-serving-approver
  approve -> certificates.k8s.io: signers [kubernetes.io/kubelet-serving]
system:certificates.k8s.io:legacy-unknown-approver
  approve -> certificates.k8s.io: signers [kubernetes.io/legacy-unknown]
system:cluster-trust-bundle-discovery
  read -> certificates.k8s.io: clustertrustbundles
system:discovery
  get -> /api /api/* /apis /apis/* /healthz /livez /openapi /openapi/* /readyz /version /version/
system:heapster
  read -> core: events namespaces nodes pods
  read -> extensions: deployments
system:kube-aggregator
  read -> core: endpoints services
system:kubelet-api-admin
  read -> core: nodes
  proxy -> core: nodes
  * -> core: nodes/log nodes/metrics nodes/proxy nodes/stats
  * -> core: nodes/configz nodes/healthz nodes/pods
system:monitoring
  get -> /flagz /healthz /healthz/* /livez /livez/* /metrics /metrics/slis /readyz /readyz/* /statusz
  get -> core: nodes/metrics
system:node-problem-detector
  get -> core: nodes
  patch -> core: nodes/status
  events
system:persistent-volume-provisioner
  create delete get list watch -> core: persistentvolumes
  get list update watch -> core: persistentvolumeclaims
  read -> storage.k8s.io: storageclasses
  watch -> core: events
  events
system:public-info-viewer
  get -> /healthz /livez /readyz /version /version/
system:service-account-issuer-discovery
  get -> /.well-known/openid-configuration /.well-known/openid-configuration/ /openid/v1/jwks /openid/v1/jwks/
`
