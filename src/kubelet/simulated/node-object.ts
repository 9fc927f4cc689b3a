import type { Lease } from '../../api/generated/coordination-v1.ts'
import type { Node, NodeCondition } from '../../api/generated/core-v1.ts'
import { formatMicroTime, formatTime } from '../../api/meta/time.ts'
import { ANNOTATION, LABEL, NAMESPACE } from '../../api/meta/well-known.ts'
import { KUBERNETES_VERSION } from '../../api/version.ts'
import { formatIPv4, parseIPv4 } from '../../base/ip-address.ts'
import type { Random } from '../../base/random.ts'

/** What a simulated node says of itself; everything has a usual value. */
export interface SimulatedNodeSpec {
  readonly name: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  readonly taints?: NonNullable<Node['spec']>['taints']
  readonly capacity?: Readonly<Record<string, string>>
  readonly address?: string
}

const USUAL_CAPACITY = {
  cpu: '8',
  memory: '32Gi',
  pods: '110',
  'ephemeral-storage': '100Gi',
  'hugepages-1Gi': '0',
  'hugepages-2Mi': '0',
}
const FIRST_ADDRESS = parseIPv4('172.18.0.2')!

/** 172.18.0.2, 172.18.0.3, ...: enough for a million nodes. */
export const nodeAddress = (index: number) => formatIPv4(FIRST_ADDRESS + index)

export function nodeObject(spec: SimulatedNodeSpec, address: string, random: Random, now: number): Node {
  const capacity = { ...USUAL_CAPACITY, ...spec.capacity }
  const { name } = spec
  return {
    metadata: {
      name,
      labels: {
        [LABEL.betaArch]: 'amd64',
        [LABEL.betaOs]: 'linux',
        [LABEL.arch]: 'amd64',
        [LABEL.hostname]: name,
        [LABEL.os]: 'linux',
        ...spec.labels,
      },
      annotations: { [ANNOTATION.controllerManagedAttachDetach]: 'true', ...spec.annotations },
    },
    spec: { ...(spec.taints && { taints: [...spec.taints] }) },
    status: {
      capacity,
      allocatable: capacity,
      conditions: nodeConditions(now),
      addresses: [
        { type: 'InternalIP', address },
        { type: 'Hostname', address: name },
      ],
      daemonEndpoints: { kubeletEndpoint: { Port: 10250 } },
      nodeInfo: {
        machineID: random.uuid().replaceAll('-', ''),
        systemUUID: random.uuid(),
        bootID: random.uuid(),
        kernelVersion: '6.12.0-simulated',
        osImage: 'Simulated',
        containerRuntimeVersion: 'simulated://1.0.0',
        kubeletVersion: KUBERNETES_VERSION,
        kubeProxyVersion: '',
        operatingSystem: 'linux',
        architecture: 'amd64',
      },
    },
  }
}

const HEALTHY = [
  ['MemoryPressure', 'False', 'KubeletHasSufficientMemory', 'kubelet has sufficient memory available'],
  ['DiskPressure', 'False', 'KubeletHasNoDiskPressure', 'kubelet has no disk pressure'],
  ['PIDPressure', 'False', 'KubeletHasSufficientPID', 'kubelet has sufficient PID available'],
  ['Ready', 'True', 'KubeletReady', 'kubelet is posting ready status'],
] as const

/** A healthy node's conditions; times of transition are kept where nothing changed. */
export function nodeConditions(now: number, known: readonly NodeCondition[] = []): NodeCondition[] {
  const time = formatTime(now)
  const own = HEALTHY.map(([type, status, reason, message]) => {
    const before = known.find((condition) => condition.type === type)
    const lastTransitionTime = (before?.status === status && before.lastTransitionTime) || time
    return { type, status, lastHeartbeatTime: time, lastTransitionTime, reason, message }
  })
  return [...own, ...known.filter(({ type }) => !HEALTHY.some(([healthy]) => healthy === type))]
}

export const LEASE_NAMESPACE = NAMESPACE.nodeLease
const LEASE_SECONDS = 40

export function leaseObject(node: Node, now: number): Lease {
  const { name = '', uid = '' } = node.metadata
  return {
    metadata: { name, namespace: LEASE_NAMESPACE, ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name, uid }] },
    spec: { holderIdentity: name, leaseDurationSeconds: LEASE_SECONDS, renewTime: formatMicroTime(now) },
  }
}
