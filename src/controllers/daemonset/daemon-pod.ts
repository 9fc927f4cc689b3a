import type { ControllerRevision, DaemonSet } from '../../api/generated/apps-v1.ts'
import type { Affinity, Pod, PodSpec, Toleration } from '../../api/generated/core-v1.ts'
import { daemonSetKind } from '../../api/kinds/apps/daemon-set/kind.ts'
import { TAINT } from '../../api/meta/well-known.ts'
import { podFromTemplate } from '../pod-control/pod-control.ts'

export const HASH_LABEL = 'controller-revision-hash'
const TEMPLATE_GENERATION = 'deprecated.daemonset.template.generation'

/** Daemons look after their node, so they stay on one that is in trouble and come to one that takes no other pods. */
const TOLERATED: readonly (readonly [key: string, effect: string])[] = [
  [TAINT.notReady, 'NoExecute'],
  [TAINT.unreachable, 'NoExecute'],
  [TAINT.diskPressure, 'NoSchedule'],
  [TAINT.memoryPressure, 'NoSchedule'],
  [TAINT.pidPressure, 'NoSchedule'],
  [TAINT.unschedulable, 'NoSchedule'],
]
const TOLERATED_BY_HOST_NETWORK = [[TAINT.networkUnavailable, 'NoSchedule']] as const

/** The tolerations of the template and those of every daemon. */
export function daemonTolerations(spec: PodSpec | undefined): Toleration[] {
  const own = spec?.tolerations ?? []
  const added = [...TOLERATED, ...(spec?.hostNetwork ? TOLERATED_BY_HOST_NETWORK : [])]
    .map(([key, effect]) => ({ key, operator: 'Exists', effect }))
    .filter((one) => !own.some((known) => isSame(known, one)))
  return [...own, ...added]
}

const isSame = (a: Toleration, b: Toleration) =>
  a.key === b.key && a.effect === b.effect && a.operator === b.operator && (a.value ?? '') === (b.value ?? '')

/** The pod of one node. The scheduler binds it; the affinity leaves it no choice where. */
export function daemonPod(daemonSet: DaemonSet, hash: string, node: string): Pod {
  const template = daemonSet.spec?.template ?? {}
  const pod = podFromTemplate(template, daemonSet, daemonSetKind)
  const generation = daemonSet.metadata.annotations?.[TEMPLATE_GENERATION]
  const labels = {
    ...pod.metadata.labels,
    ...(generation && { 'pod-template-generation': generation }),
    [HASH_LABEL]: hash,
  }
  return {
    ...pod,
    metadata: { ...pod.metadata, labels },
    spec: {
      ...pod.spec!,
      affinity: onNode(template.spec?.affinity, node),
      tolerations: daemonTolerations(template.spec),
    },
  }
}

function onNode(affinity: Affinity | undefined, node: string): Affinity {
  const matchFields = [{ key: 'metadata.name', operator: 'In', values: [node] }]
  return {
    ...affinity,
    nodeAffinity: {
      ...affinity?.nodeAffinity,
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchFields }] },
    },
  }
}

/** The node a pod runs on or is meant for. */
export function nodeOf({ spec }: Pod): string {
  if (spec?.nodeName) return spec.nodeName
  const terms = spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms
  for (const { matchFields = [] } of terms ?? [])
    for (const { key, operator, values = [] } of matchFields)
      if (key === 'metadata.name' && operator === 'In' && values.length === 1) return values[0]!
  return ''
}

/** What pods of a revision carry. One that was made by hand may lack the label: its name is as good. */
export const hashOf = ({ metadata }: ControllerRevision) => metadata.labels?.[HASH_LABEL] ?? metadata.name ?? ''

export const isUpdated = (pod: Pod, hash: string) => pod.metadata.labels?.[HASH_LABEL] === hash
