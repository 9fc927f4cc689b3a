import type { Pod } from '../../api/generated/core-v1.ts'
import { type AffinityTerm, affinityTerm } from './affinity-term.ts'
import { nonZeroRequests, podRequests } from './resource-amounts.ts'

export interface HostPort {
  readonly ip: string
  readonly protocol: string
  readonly port: number
}

export interface WeightedTerm {
  readonly term: AffinityTerm
  readonly weight: number
}

/** What scheduling needs to know of a pod, read once from its object. */
export interface PodFacts {
  readonly pod: Pod
  readonly uid: string
  readonly namespace: string
  readonly priority: number
  readonly requests: ReadonlyMap<string, number>
  readonly nonZero: { readonly cpu: number; readonly memory: number }
  readonly ports: readonly HostPort[]
  readonly requiredAffinity: readonly AffinityTerm[]
  readonly requiredAntiAffinity: readonly AffinityTerm[]
  readonly preferredAffinity: readonly WeightedTerm[]
  readonly preferredAntiAffinity: readonly WeightedTerm[]
  /** Claims of the pod's namespace that its volumes use. */
  readonly claims: readonly string[]
  readonly isTerminating: boolean
}

const NO_PORTS: readonly HostPort[] = []
const NO_TERMS: readonly AffinityTerm[] = []
const NO_WEIGHTED: readonly WeightedTerm[] = []
const NO_CLAIMS: readonly string[] = []

export function podFacts(pod: Pod): PodFacts {
  const { namespace = '' } = pod.metadata
  const affinity = pod.spec?.affinity
  const required = (terms: Parameters<typeof affinityTerm>[0][] | undefined) =>
    terms?.length ? terms.map((term) => affinityTerm(term, namespace)) : NO_TERMS
  const preferred = (terms: { podAffinityTerm: Parameters<typeof affinityTerm>[0]; weight: number }[] | undefined) =>
    terms?.length
      ? terms.map((each) => ({ term: affinityTerm(each.podAffinityTerm, namespace), weight: each.weight }))
      : NO_WEIGHTED
  const { podAffinity, podAntiAffinity } = affinity ?? {}
  return {
    namespace,
    requests: podRequests(pod),
    nonZero: nonZeroRequests(pod),
    ports: hostPorts(pod),
    requiredAffinity: required(podAffinity?.requiredDuringSchedulingIgnoredDuringExecution),
    requiredAntiAffinity: required(podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution),
    preferredAffinity: preferred(podAffinity?.preferredDuringSchedulingIgnoredDuringExecution),
    preferredAntiAffinity: preferred(podAntiAffinity?.preferredDuringSchedulingIgnoredDuringExecution),
    // Last: fields that are added to a copy would give each pod's facts a hidden class of their own.
    ...individualFacts(pod),
  }
}

/** What even pods of the same class do not share. */
export function individualFacts(pod: Pod): Pick<PodFacts, 'pod' | 'uid' | 'priority' | 'claims' | 'isTerminating'> {
  return {
    pod,
    uid: pod.metadata.uid ?? '',
    priority: priorityOf(pod),
    claims: claimsOf(pod),
    isTerminating: pod.metadata.deletionTimestamp !== undefined,
  }
}

export const priorityOf = (pod: Pod): number => pod.spec?.priority ?? 0

/** Succeeded and failed pods hold nothing of their node any more. */
export const isFinished = (pod: Pod): boolean => pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed'

function hostPorts(pod: Pod): readonly HostPort[] {
  let ports: HostPort[] | undefined
  for (const list of [pod.spec!.containers, pod.spec!.initContainers ?? []]) {
    for (const container of list) {
      if (list === pod.spec!.initContainers && container.restartPolicy !== 'Always') continue
      for (const { hostPort, hostIP, protocol } of container.ports ?? []) {
        if (!hostPort) continue
        ports ??= []
        ports.push({ ip: hostIP || '0.0.0.0', protocol: protocol || 'TCP', port: hostPort })
      }
    }
  }
  return ports ?? NO_PORTS
}

/** An ephemeral volume's claim is named after the pod and the volume. */
function claimsOf(pod: Pod): readonly string[] {
  const volumes = pod.spec?.volumes
  if (!volumes?.length) return NO_CLAIMS
  const claims = volumes.flatMap((volume) => {
    if (volume.persistentVolumeClaim) return [volume.persistentVolumeClaim.claimName]
    return volume.ephemeral ? [`${pod.metadata.name}-${volume.name}`] : []
  })
  return claims.length > 0 ? claims : NO_CLAIMS
}
