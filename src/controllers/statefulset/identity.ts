import type { StatefulSet } from '../../api/generated/apps-v1.ts'
import type { PersistentVolumeClaim, Pod, PodTemplateSpec, Volume } from '../../api/generated/core-v1.ts'
import { statefulSetKind } from '../../api/kinds/apps/stateful-set/kind.ts'
import { podFromTemplate } from '../pod-control/pod-control.ts'

export const REVISION_LABEL = 'controller-revision-hash'
const NAME_LABEL = 'statefulset.kubernetes.io/pod-name'
const INDEX_LABEL = 'apps.kubernetes.io/pod-index'

export const startOrdinal = (set: StatefulSet) => set.spec?.ordinals?.start ?? 0
export const podName = (set: StatefulSet, ordinal: number) => `${set.metadata.name}-${ordinal}`
export const revisionOf = (pod: Pod) => pod.metadata.labels?.[REVISION_LABEL] ?? ''

/** The set's name and the ordinal in a pod's name. */
export function parsePodName(name: string): { set: string; ordinal: number } | undefined {
  const match = /^(.+)-(0|[1-9]\d{0,9})$/.exec(name)
  return match ? { set: match[1]!, ordinal: Number(match[2]) } : undefined
}

/** The ordinal of a pod of this set; undefined if its name is not of this set. */
export function ordinalOf(set: StatefulSet, pod: Pod): number | undefined {
  const parsed = parsePodName(pod.metadata.name ?? '')
  return parsed?.set === set.metadata.name ? parsed?.ordinal : undefined
}

/** Labels by which one pod of a set can be selected. */
const identityLabels = (name: string, ordinal: number) => ({ [NAME_LABEL]: name, [INDEX_LABEL]: String(ordinal) })

/** What is missing of a pod's identity, as labels to add; undefined if nothing is. */
export function missingIdentity(pod: Pod, ordinal: number): Record<string, string> | undefined {
  const wanted = identityLabels(pod.metadata.name ?? '', ordinal)
  const labels = pod.metadata.labels ?? {}
  return Object.entries(wanted).every(([key, value]) => labels[key] === value) ? undefined : wanted
}

/** The pod of an ordinal: name, host name and claims are its own and stay the same for every pod that follows it. */
export function newPod(set: StatefulSet, template: PodTemplateSpec, revision: string, ordinal: number): Pod {
  const name = podName(set, ordinal)
  const pod = podFromTemplate(template, set, statefulSetKind)
  const labels = { ...pod.metadata.labels, ...identityLabels(name, ordinal), [REVISION_LABEL]: revision }
  const { serviceName } = set.spec ?? {}
  return {
    ...pod,
    metadata: { ...pod.metadata, name, labels },
    spec: {
      ...pod.spec!,
      hostname: name,
      ...(serviceName && { subdomain: serviceName }),
      ...withClaims(set, ordinal, pod.spec?.volumes),
    },
  }
}

/** Claims stand in for volumes of the same name. */
function withClaims(set: StatefulSet, ordinal: number, volumes: readonly Volume[] = []): { volumes?: Volume[] } {
  const claimed = (set.spec?.volumeClaimTemplates ?? []).map((template) => ({
    name: template.metadata.name ?? '',
    persistentVolumeClaim: { claimName: claimName(set, template, ordinal) },
  }))
  const names = new Set(claimed.map((volume) => volume.name))
  const all = [...claimed, ...volumes.filter((volume) => !names.has(volume.name))]
  return all.length > 0 ? { volumes: all } : {}
}

export const claimName = (set: StatefulSet, template: PersistentVolumeClaim, ordinal: number) =>
  `${template.metadata.name}-${podName(set, ordinal)}`

/** The claims that belong to an ordinal. */
export function claimsOf(set: StatefulSet, ordinal: number): PersistentVolumeClaim[] {
  return (set.spec?.volumeClaimTemplates ?? []).map((template) => ({
    ...template,
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: {
      ...template.metadata,
      name: claimName(set, template, ordinal),
      namespace: set.metadata.namespace ?? '',
      labels: { ...template.metadata.labels, ...set.spec?.selector.matchLabels },
    },
  }))
}
