import type { Json } from '../../tools/json.ts'

/** One resource of the API and an object of it that the server must take. */
export interface ResourceCase {
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly plural: string
  readonly namespaced: boolean
  /** Everything but apiVersion, kind and metadata. `index` tells several objects of one test apart. */
  body(index: number): Json
  /** A merge patch for the status door, where there is one; read back unchanged. */
  readonly status?: Json
  /** What to call object `index`, where names are not free. */
  name?(index: number): string
  /** Deleting one needs a controller that is not there. */
  readonly keepsFinalizer?: boolean
}

type Extra = Partial<Pick<ResourceCase, 'status' | 'name' | 'keepsFinalizer'>>

function resource(
  apiVersion: string,
  kind: string,
  plural: string,
  namespaced: boolean,
  body: Json | ((index: number) => Json) = {},
  extra: Extra = {},
): ResourceCase {
  const [group, version] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion]
  return {
    group: group as string,
    version: version as string,
    kind,
    plural,
    namespaced,
    body: typeof body === 'function' ? body : () => body,
    ...extra,
  }
}

/** A condition with all its fields, for kinds whose conditions are metav1.Condition. */
const condition = (type: string) => ({
  type,
  status: 'True',
  reason: 'Tested',
  message: 'set by a test',
  lastTransitionTime: '2026-01-02T03:04:05Z',
})

const labels = { app: 'operations' }
const template = {
  metadata: { labels },
  spec: { automountServiceAccountToken: false, containers: [{ name: 'main', image: 'registry.k8s.io/pause:3.10' }] },
}
const jobTemplate = { ...template, spec: { ...template.spec, restartPolicy: 'Never' } }
const selector = { matchLabels: labels }
const reference = (kind: string, name: string) => ({ apiGroup: 'rbac.authorization.k8s.io', kind, name })
const webhook = {
  name: 'operations.example.com',
  clientConfig: { url: 'https://127.0.0.1:1/never' },
  rules: [{ apiGroups: ['example.com'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['nothings'] }],
  sideEffects: 'None',
  admissionReviewVersions: ['v1'],
}
const matchNothing = {
  resourceRules: [{ apiGroups: ['example.com'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['nothings'] }],
}
/** A request for CN=tester, made once with openssl. */
export const signingRequest =
  'LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlITE1ITUNBUUF3RVRFUE1BMEdBMVVFQXd3R2RHVnpkR1Z5TUZrd0V3WUhLb1pJemowQ0FRWUlLb1pJemowRApBUWNEUWdBRWtidktkU1k2aDdUSXJucVNKVUNBUEJWcnl6WUQ0WDlDUGxmbk5jUmI3SU9tVXRYZVVFMTZxcm15CnhxaGtrdWVzYUN4VzNMRjZoQXFMTDFJUXA2bFZXS0FBTUFvR0NDcUdTTTQ5QkFNQ0EwZ0FNRVVDSVFDVlltTkUKSXNzaGZNL0x5MzNCM0FiT2Jlc1docnl4Rzg2RG1hT3BaZmxJUEFJZ0FMOGpOWWc5SHpKekdlV1RRbWxrT05LQwoyT2hzSW8rWml6M0Vwb0NhYVFVPQotLS0tLUVORCBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0K'

export const RESOURCE_CASES: readonly ResourceCase[] = [
  resource('v1', 'ConfigMap', 'configmaps', true, { data: { key: 'value' } }),
  resource('v1', 'Secret', 'secrets', true, { data: { key: 'dmFsdWU=' } }),
  resource('v1', 'ServiceAccount', 'serviceaccounts', true, { automountServiceAccountToken: false }),
  resource('v1', 'Endpoints', 'endpoints', true, {
    subsets: [{ addresses: [{ ip: '10.1.2.3' }], ports: [{ name: 'http', port: 80 }] }],
  }),
  resource('v1', 'PodTemplate', 'podtemplates', true, { template }),
  resource('v1', 'Pod', 'pods', true, { spec: template.spec }, { status: { message: 'tested', reason: 'Test' } }),
  resource(
    'v1',
    'ReplicationController',
    'replicationcontrollers',
    true,
    { spec: { replicas: 0, selector: labels, template } },
    { status: { replicas: 0, observedGeneration: 1 } },
  ),
  resource(
    'v1',
    'Service',
    'services',
    true,
    { spec: { type: 'LoadBalancer', ports: [{ port: 80 }], selector: labels } },
    { status: { loadBalancer: { ingress: [{ ip: '203.0.113.1', ipMode: 'VIP' }] } } },
  ),
  resource('v1', 'LimitRange', 'limitranges', true, { spec: { limits: [{ type: 'Pod', max: { cpu: '64' } }] } }),
  resource(
    'v1',
    'ResourceQuota',
    'resourcequotas',
    true,
    { spec: { hard: { 'count/nothings.example.com': '5' } } },
    { status: { hard: { 'count/nothings.example.com': '5' }, used: { 'count/nothings.example.com': '1' } } },
  ),
  resource(
    'v1',
    'PersistentVolume',
    'persistentvolumes',
    false,
    {
      spec: {
        capacity: { storage: '1Gi' },
        accessModes: ['ReadWriteOnce'],
        storageClassName: 'operations',
        hostPath: { path: '/tmp/operations' },
      },
    },
    { status: { message: 'tested', reason: 'Test' } },
  ),
  resource(
    'v1',
    'PersistentVolumeClaim',
    'persistentvolumeclaims',
    true,
    {
      spec: {
        accessModes: ['ReadWriteOnce'],
        storageClassName: 'operations',
        resources: { requests: { storage: '1Gi' } },
      },
    },
    { status: { conditions: [{ type: 'Tested', status: 'True' }] } },
  ),
  resource(
    'v1',
    'Node',
    'nodes',
    false,
    { spec: { unschedulable: true } },
    { status: { phase: 'Running', conditions: [{ type: 'Tested', status: 'True' }] } },
  ),
  resource(
    'v1',
    'Namespace',
    'namespaces',
    false,
    {},
    { keepsFinalizer: true, status: { conditions: [{ type: 'Tested', status: 'True' }] } },
  ),
  resource(
    'apps/v1',
    'Deployment',
    'deployments',
    true,
    { spec: { replicas: 0, selector, template } },
    { status: { observedGeneration: 1, conditions: [{ type: 'Available', status: 'True' }] } },
  ),
  resource(
    'apps/v1',
    'ReplicaSet',
    'replicasets',
    true,
    { spec: { replicas: 0, selector, template } },
    { status: { replicas: 0, observedGeneration: 1 } },
  ),
  resource(
    'apps/v1',
    'StatefulSet',
    'statefulsets',
    true,
    { spec: { replicas: 0, serviceName: 'operations', selector, template } },
    { status: { replicas: 0, observedGeneration: 1 } },
  ),
  resource(
    'apps/v1',
    'DaemonSet',
    'daemonsets',
    true,
    { spec: { selector, template } },
    { status: { conditions: [{ type: 'Tested', status: 'True' }] } },
  ),
  resource('apps/v1', 'ControllerRevision', 'controllerrevisions', true, { revision: 1, data: { any: 'thing' } }),
  resource(
    'batch/v1',
    'Job',
    'jobs',
    true,
    { spec: { suspend: true, template: jobTemplate } },
    { status: { conditions: [{ type: 'Suspended', status: 'True' }] } },
  ),
  resource(
    'batch/v1',
    'CronJob',
    'cronjobs',
    true,
    { spec: { schedule: '0 0 1 1 *', suspend: true, jobTemplate: { spec: { template: jobTemplate } } } },
    { status: { lastScheduleTime: '2026-01-02T03:04:05Z' } },
  ),
  ...['autoscaling/v1', 'autoscaling/v2'].map((version) =>
    resource(
      version,
      'HorizontalPodAutoscaler',
      'horizontalpodautoscalers',
      true,
      { spec: { maxReplicas: 3, scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'none' } } },
      { status: { currentReplicas: 1, desiredReplicas: 2 } },
    ),
  ),
  resource(
    'policy/v1',
    'PodDisruptionBudget',
    'poddisruptionbudgets',
    true,
    { spec: { minAvailable: 1, selector } },
    { status: { observedGeneration: 1, disruptionsAllowed: 1 } },
  ),
  resource(
    'networking.k8s.io/v1',
    'Ingress',
    'ingresses',
    true,
    { spec: { defaultBackend: { service: { name: 'none', port: { number: 80 } } } } },
    { status: { loadBalancer: { ingress: [{ ip: '203.0.113.2' }] } } },
  ),
  resource('networking.k8s.io/v1', 'IngressClass', 'ingressclasses', false, {
    spec: { controller: 'example.com/controller' },
  }),
  resource('networking.k8s.io/v1', 'NetworkPolicy', 'networkpolicies', true, {
    spec: { podSelector: selector, policyTypes: ['Ingress'] },
  }),
  resource(
    'networking.k8s.io/v1',
    'IPAddress',
    'ipaddresses',
    false,
    { spec: { parentRef: { resource: 'services', namespace: 'default', name: 'none' } } },
    { name: (index) => `192.0.2.${index + 10}` },
  ),
  resource(
    'networking.k8s.io/v1',
    'ServiceCIDR',
    'servicecidrs',
    false,
    (index) => ({ spec: { cidrs: [`198.51.${index + 100}.0/24`] } }),
    { status: { conditions: [condition('Tested')] } },
  ),
  resource('discovery.k8s.io/v1', 'EndpointSlice', 'endpointslices', true, {
    addressType: 'IPv4',
    endpoints: [{ addresses: ['10.1.2.3'], conditions: { ready: true } }],
    ports: [{ name: 'http', port: 80, protocol: 'TCP' }],
  }),
  resource('v1', 'Event', 'events', true, (index) => ({
    involvedObject: { kind: 'Pod', namespace: 'operations', name: `pod-${index}` },
    reason: 'Tested',
    message: 'a test',
    type: 'Normal',
  })),
  resource('events.k8s.io/v1', 'Event', 'events', true, (index) => ({
    regarding: { kind: 'Pod', namespace: 'operations', name: `pod-${index}` },
    eventTime: '2026-01-02T03:04:05.000006Z',
    reportingController: 'example.com/tester',
    reportingInstance: 'tester-1',
    action: 'Test',
    reason: 'Tested',
    type: 'Normal',
  })),
  resource('coordination.k8s.io/v1', 'Lease', 'leases', true, {
    spec: { holderIdentity: 'tester', leaseDurationSeconds: 30, renewTime: '2026-01-02T03:04:05.000006Z' },
  }),
  resource('node.k8s.io/v1', 'RuntimeClass', 'runtimeclasses', false, { handler: 'tested' }),
  resource('scheduling.k8s.io/v1', 'PriorityClass', 'priorityclasses', false, { value: 5 }),
  resource('storage.k8s.io/v1', 'StorageClass', 'storageclasses', false, { provisioner: 'example.com/disk' }),
  resource('storage.k8s.io/v1', 'CSIDriver', 'csidrivers', false, { spec: { attachRequired: true } }),
  resource('storage.k8s.io/v1', 'CSINode', 'csinodes', false, {
    spec: { drivers: [{ name: 'example.com.disk', nodeID: 'node-1', topologyKeys: ['example.com/zone'] }] },
  }),
  resource('storage.k8s.io/v1', 'CSIStorageCapacity', 'csistoragecapacities', true, {
    storageClassName: 'operations',
    capacity: '10Gi',
  }),
  resource(
    'storage.k8s.io/v1',
    'VolumeAttachment',
    'volumeattachments',
    false,
    { spec: { attacher: 'example.com', nodeName: 'none', source: { persistentVolumeName: 'none' } } },
    { status: { attached: true } },
  ),
  resource('storage.k8s.io/v1', 'VolumeAttributesClass', 'volumeattributesclasses', false, {
    driverName: 'example.com',
    parameters: { speed: 'fast' },
  }),
  resource('rbac.authorization.k8s.io/v1', 'Role', 'roles', true, {
    rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }],
  }),
  resource('rbac.authorization.k8s.io/v1', 'RoleBinding', 'rolebindings', true, {
    subjects: [{ ...reference('User', 'jane') }],
    roleRef: reference('Role', 'none'),
  }),
  resource('rbac.authorization.k8s.io/v1', 'ClusterRole', 'clusterroles', false, {
    rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }],
  }),
  resource('rbac.authorization.k8s.io/v1', 'ClusterRoleBinding', 'clusterrolebindings', false, {
    subjects: [{ ...reference('Group', 'testers') }],
    roleRef: reference('ClusterRole', 'none'),
  }),
  resource(
    'admissionregistration.k8s.io/v1',
    'ValidatingWebhookConfiguration',
    'validatingwebhookconfigurations',
    false,
    { webhooks: [webhook] },
  ),
  resource('admissionregistration.k8s.io/v1', 'MutatingWebhookConfiguration', 'mutatingwebhookconfigurations', false, {
    webhooks: [webhook],
  }),
  resource(
    'admissionregistration.k8s.io/v1',
    'ValidatingAdmissionPolicy',
    'validatingadmissionpolicies',
    false,
    { spec: { matchConstraints: matchNothing, validations: [{ expression: 'true' }] } },
    { status: { observedGeneration: 1, conditions: [condition('Tested')] } },
  ),
  resource(
    'admissionregistration.k8s.io/v1',
    'ValidatingAdmissionPolicyBinding',
    'validatingadmissionpolicybindings',
    false,
    { spec: { policyName: 'none', validationActions: ['Deny'] } },
  ),
  resource('admissionregistration.k8s.io/v1', 'MutatingAdmissionPolicy', 'mutatingadmissionpolicies', false, {
    spec: {
      matchConstraints: matchNothing,
      reinvocationPolicy: 'Never',
      mutations: [
        { patchType: 'ApplyConfiguration', applyConfiguration: { expression: 'Object{metadata: Object.metadata{}}' } },
      ],
    },
  }),
  resource(
    'admissionregistration.k8s.io/v1',
    'MutatingAdmissionPolicyBinding',
    'mutatingadmissionpolicybindings',
    false,
    { spec: { policyName: 'none' } },
  ),
  resource(
    'apiregistration.k8s.io/v1',
    'APIService',
    'apiservices',
    false,
    (index) => ({
      spec: {
        group: 'operations.example.com',
        version: `v${index + 1}`,
        groupPriorityMinimum: 1000,
        versionPriority: 15,
        insecureSkipTLSVerify: true,
        service: { namespace: 'default', name: 'none', port: 443 },
      },
    }),
    { name: (index) => `v${index + 1}.operations.example.com`, status: { conditions: [condition('Available')] } },
  ),
  resource(
    'certificates.k8s.io/v1',
    'CertificateSigningRequest',
    'certificatesigningrequests',
    false,
    { spec: { request: signingRequest, signerName: 'example.com/tested', usages: ['client auth'] } },
    { status: { conditions: [{ type: 'Failed', status: 'True', reason: 'Tested', message: 'set by a test' }] } },
  ),
  resource(
    'flowcontrol.apiserver.k8s.io/v1',
    'FlowSchema',
    'flowschemas',
    false,
    { spec: { matchingPrecedence: 10000, priorityLevelConfiguration: { name: 'none' } } },
    { status: { conditions: [{ type: 'Dangling', status: 'True', reason: 'Tested', message: 'set by a test' }] } },
  ),
  resource(
    'flowcontrol.apiserver.k8s.io/v1',
    'PriorityLevelConfiguration',
    'prioritylevelconfigurations',
    false,
    { spec: { type: 'Limited', limited: { nominalConcurrencyShares: 2, limitResponse: { type: 'Reject' } } } },
    { status: { conditions: [{ type: 'Tested', status: 'True', reason: 'Tested', message: 'set by a test' }] } },
  ),
  resource('resource.k8s.io/v1', 'DeviceClass', 'deviceclasses', false, {
    spec: { selectors: [{ cel: { expression: 'device.driver == "gpu.example.com"' } }] },
  }),
  resource('resource.k8s.io/v1', 'ResourceClaim', 'resourceclaims', true, {
    spec: { devices: { requests: [{ name: 'gpu', exactly: { deviceClassName: 'gpu.example.com' } }] } },
  }),
  resource('resource.k8s.io/v1', 'ResourceClaimTemplate', 'resourceclaimtemplates', true, {
    spec: { spec: { devices: { requests: [{ name: 'gpu', exactly: { deviceClassName: 'gpu.example.com' } }] } } },
  }),
  resource('resource.k8s.io/v1', 'ResourceSlice', 'resourceslices', false, {
    spec: {
      driver: 'gpu.example.com',
      nodeName: 'node-1',
      pool: { name: 'pool-1', generation: 1, resourceSliceCount: 1 },
      devices: [{ name: 'gpu-0' }],
    },
  }),
]
