import type { Node, NodeCondition, NodeStatus, Taint } from '../../api/generated/core-v1.ts'
import { parseAmount } from '../../api/kinds/core/pod/resources.ts'
import { formatQuantity, isNegative, quantityOf, subtractQuantities } from '../../api/meta/quantity.ts'
import { formatTime } from '../../api/meta/time.ts'
import { ANNOTATION, LABEL } from '../../api/meta/well-known.ts'
import { KUBERNETES_VERSION } from '../../api/version.ts'
import type { Image } from '../../container-runtime/image-service.ts'
import type { RuntimeCondition, RuntimeVersion } from '../../container-runtime/runtime.ts'
import type { Machine } from './machine.ts'

const MAX_PODS = 110
const MAX_IMAGES = 50
const MAX_NAMES_PER_IMAGE = 5

export interface NodeSpec {
  readonly name: string
  readonly addresses: readonly string[]
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
  readonly taints: readonly Taint[]
  /** What is told instead of what the machine has. */
  readonly capacity: Readonly<Record<string, string>>
  /** What pods may not have of it. */
  readonly reserved: Readonly<Record<string, string>>
  readonly providerID?: string
}

export interface Pressure {
  readonly memory: boolean
  readonly disk: boolean
  readonly pid: boolean
}

export interface NodeFacts {
  readonly machine: Machine
  readonly runtime: RuntimeVersion
  readonly runtimeConditions: readonly RuntimeCondition[]
  readonly images: readonly Image[]
  readonly pressure: Pressure
  readonly port: number
  /** Amounts of devices that plugins offer. */
  readonly devices: ReadonlyMap<string, number>
}

export function nodeObject(spec: NodeSpec, facts: NodeFacts, now: number): Node {
  const { architecture } = facts.machine
  return {
    metadata: {
      name: spec.name,
      labels: {
        [LABEL.betaArch]: architecture,
        [LABEL.betaOs]: 'linux',
        [LABEL.arch]: architecture,
        [LABEL.hostname]: spec.name,
        [LABEL.os]: 'linux',
        ...spec.labels,
      },
      annotations: { [ANNOTATION.controllerManagedAttachDetach]: 'true', ...spec.annotations },
    },
    spec: {
      ...(spec.taints.length > 0 && { taints: [...spec.taints] }),
      ...(spec.providerID && { providerID: spec.providerID }),
    },
    status: nodeStatus(spec, facts, {}, now),
  }
}

export function nodeStatus(spec: NodeSpec, facts: NodeFacts, previous: NodeStatus, now: number): NodeStatus {
  const capacity = { ...advertised(previous), ...capacityOf(spec, facts) }
  return {
    capacity,
    allocatable: allocatableOf(capacity, spec.reserved),
    conditions: nodeConditions(facts, previous.conditions ?? [], now),
    addresses: [
      ...spec.addresses.map((address) => ({ type: 'InternalIP', address })),
      { type: 'Hostname', address: spec.name },
    ],
    daemonEndpoints: { kubeletEndpoint: { Port: facts.port } },
    nodeInfo: nodeInfo(facts),
    images: imagesOf(facts.images),
  }
}

function capacityOf(spec: NodeSpec, { machine, devices }: NodeFacts): Record<string, string> {
  return {
    cpu: String(machine.cpus),
    memory: formatQuantity(quantityOf(Math.floor(machine.memoryBytes / 1024) * 1024, 'BinarySI')),
    'ephemeral-storage': formatQuantity(quantityOf(machine.storageBytes, 'BinarySI')),
    'hugepages-1Gi': '0',
    'hugepages-2Mi': '0',
    pods: String(MAX_PODS),
    ...Object.fromEntries([...devices].map(([name, count]) => [name, String(count)])),
    ...spec.capacity,
  }
}

/** Extended resources that an administrator wrote into the status: what the node has of them can be given away. */
const advertised = ({ capacity = {} }: NodeStatus): Record<string, string> =>
  Object.fromEntries(
    Object.entries(capacity).flatMap(([name, amount]) => (name.includes('/') ? [[name, `${amount}`]] : [])),
  )

function allocatableOf(capacity: Record<string, string>, reserved: Readonly<Record<string, string>>) {
  const allocatable: Record<string, string> = { ...capacity }
  for (const [name, amount] of Object.entries(reserved)) {
    const all = parseAmount(capacity[name] ?? '0')
    const kept = parseAmount(amount)
    if (!all || !kept) continue
    const left = subtractQuantities(all, kept)
    allocatable[name] = isNegative(left) ? '0' : formatQuantity(left)
  }
  return allocatable
}

function nodeInfo({ machine, runtime }: NodeFacts): NodeStatus['nodeInfo'] {
  return {
    machineID: machine.machineID,
    systemUUID: machine.systemUUID,
    bootID: machine.bootID,
    kernelVersion: machine.kernelVersion,
    osImage: machine.osImage,
    containerRuntimeVersion: `${runtime.name}://${runtime.version}`,
    kubeletVersion: KUBERNETES_VERSION,
    kubeProxyVersion: '',
    operatingSystem: 'linux',
    architecture: machine.architecture,
    ...(machine.swapBytes > 0 && { swap: { capacity: machine.swapBytes } }),
  }
}

function imagesOf(images: readonly Image[]): NodeStatus['images'] {
  return [...images]
    .sort((a, b) => b.size - a.size || a.id.localeCompare(b.id))
    .slice(0, MAX_IMAGES)
    .map(({ repoDigests, repoTags, size }) => ({
      names: [...repoDigests, ...repoTags].slice(0, MAX_NAMES_PER_IMAGE),
      sizeBytes: size,
    }))
}

type Draft = Pick<NodeCondition, 'type' | 'status' | 'reason' | 'message'>

export function nodeConditions(facts: NodeFacts, previous: readonly NodeCondition[], now: number): NodeCondition[] {
  const { memory, disk, pid } = facts.pressure
  const drafts: Draft[] = [
    memory
      ? {
          type: 'MemoryPressure',
          status: 'True',
          reason: 'KubeletHasInsufficientMemory',
          message: 'kubelet has insufficient memory available',
        }
      : {
          type: 'MemoryPressure',
          status: 'False',
          reason: 'KubeletHasSufficientMemory',
          message: 'kubelet has sufficient memory available',
        },
    disk
      ? { type: 'DiskPressure', status: 'True', reason: 'KubeletHasDiskPressure', message: 'kubelet has disk pressure' }
      : {
          type: 'DiskPressure',
          status: 'False',
          reason: 'KubeletHasNoDiskPressure',
          message: 'kubelet has no disk pressure',
        },
    pid
      ? {
          type: 'PIDPressure',
          status: 'True',
          reason: 'KubeletHasInsufficientPID',
          message: 'kubelet has insufficient PID available',
        }
      : {
          type: 'PIDPressure',
          status: 'False',
          reason: 'KubeletHasSufficientPID',
          message: 'kubelet has sufficient PID available',
        },
    readyCondition(facts.runtimeConditions),
  ]
  const time = formatTime(now)
  const own = drafts.map((draft) => {
    const before = previous.find(({ type }) => type === draft.type)
    const lastTransitionTime = (before?.status === draft.status && before.lastTransitionTime) || time
    return { ...draft, lastHeartbeatTime: time, lastTransitionTime }
  })
  return [...own, ...previous.filter(({ type }) => !drafts.some((draft) => draft.type === type))]
}

function readyCondition(conditions: readonly RuntimeCondition[]): Draft {
  const bad = ['RuntimeReady', 'NetworkReady'].flatMap((type) => {
    const condition = conditions.find((one) => one.type === type)
    if (condition?.status) return []
    const name = type === 'RuntimeReady' ? 'container runtime not ready' : 'container runtime network not ready'
    return [`${name}: ${type}=false reason:${condition?.reason ?? ''} message:${condition?.message ?? ''}`]
  })
  if (bad.length === 0)
    return { type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'kubelet is posting ready status' }
  const message = bad.length === 1 ? bad[0]! : `[${bad.join(', ')}]`
  return { type: 'Ready', status: 'False', reason: 'KubeletNotReady', message }
}
