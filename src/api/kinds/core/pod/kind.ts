import type { Pod } from '../../../generated/core-v1.ts'
import { type ActionSubresource, defineKind, type Verb } from '../../../kind.ts'
import { prepareUpdateWithStatus, statusSubresource } from '../../../strategy.ts'
import { podColumns } from './columns.ts'
import { podDefaults } from './defaults.ts'
import { ephemeralContainersDoor, resizeDoor } from './doors.ts'
import { podGracePeriod } from './grace-period.ts'
import { mergeMatchLabelKeys } from './match-label-keys.ts'
import { qosClass } from './qos.ts'
import { validatePodStatusUpdate } from './status-validation.ts'
import { validatePodUpdate } from './update-validation.ts'
import { validatePod } from './validation.ts'
import { podWarnings } from './warnings.ts'

const action = (kind: string, verbs: readonly Verb[], group = ''): ActionSubresource => ({
  type: 'action',
  verbs,
  group,
  version: 'v1',
  kind,
})

export const podKind = defineKind<Pod>({
  group: '',
  version: 'v1',
  kind: 'Pod',
  plural: 'pods',
  shortNames: ['po'],
  categories: ['all'],
  schema: 'io.k8s.api.core.v1.Pod',
  defaults: podDefaults,
  prepareCreate(draft) {
    draft.metadata.generation = 1
    const spec = draft.spec ?? { containers: [] }
    draft.status = { phase: 'Pending', qosClass: qosClass(spec) }
    if (spec.schedulingGates?.length) draft.status.conditions = [schedulingGated()]
    mergeMatchLabelKeys(spec, draft.metadata.labels)
  },
  prepareUpdate: prepareUpdateWithStatus,
  validate: validatePod,
  validateUpdate: validatePodUpdate,
  warnings: podWarnings,
  columns: podColumns,
  selectableFields: {
    'spec.nodeName': (pod) => pod.spec?.nodeName ?? '',
    'spec.restartPolicy': (pod) => pod.spec?.restartPolicy ?? '',
    'spec.schedulerName': (pod) => pod.spec?.schedulerName ?? '',
    'spec.serviceAccountName': (pod) => pod.spec?.serviceAccountName ?? '',
    'spec.hostNetwork': (pod) => String(pod.spec?.hostNetwork ?? false),
    'status.phase': (pod) => pod.status?.phase ?? '',
    'status.podIP': (pod) => pod.status?.podIPs?.[0]?.ip ?? pod.status?.podIP ?? '',
    'status.podIPs': (pod) => pod.status?.podIPs?.map((address) => address.ip).join(',') ?? '',
    'status.nominatedNodeName': (pod) => pod.status?.nominatedNodeName ?? '',
  },
  subresources: {
    attach: action('PodAttachOptions', ['create', 'get']),
    binding: action('Binding', ['create']),
    ephemeralcontainers: ephemeralContainersDoor,
    eviction: action('Eviction', ['create'], 'policy'),
    exec: action('PodExecOptions', ['create', 'get']),
    log: action('Pod', ['get']),
    portforward: action('PodPortForwardOptions', ['create', 'get']),
    proxy: action('PodProxyOptions', ['create', 'delete', 'get', 'patch', 'update']),
    resize: resizeDoor,
    status: statusSubresource<Pod>({
      prepareUpdate(draft, old) {
        podStatusDoor.prepareUpdate(draft, old)
        keepComputedStatus(draft, old)
      },
      validateUpdate: validatePodStatusUpdate,
    }),
  },
  gracePeriod: podGracePeriod,
})

const podStatusDoor = statusSubresource<Pod>()

/** What the server found out about the pod stays when the kubelet sends a status without it. */
function keepComputedStatus(draft: Pod, old: Pod): void {
  draft.status ??= {}
  if (!draft.status.qosClass && old.status?.qosClass) draft.status.qosClass = old.status.qosClass
  // `podIP` is the first of `podIPs`; clients may still know only the one.
  const { podIP, podIPs } = draft.status
  if (podIP && !podIPs?.length) draft.status.podIPs = [{ ip: podIP }]
  if (!podIP && podIPs?.[0]?.ip) draft.status.podIP = podIPs[0].ip
}

const schedulingGated = () => ({
  type: 'PodScheduled',
  status: 'False',
  reason: 'SchedulingGated',
  message: 'Scheduling is blocked due to non-empty scheduling gates',
})
