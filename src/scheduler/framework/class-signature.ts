import type { Container, NodeSelector, Pod, PodSpec } from '../../api/generated/core-v1.ts'

/**
 * A text that is equal for pods that no plugin can tell apart. Labels count only where some selector asks for them, so
 * that the pods of a StatefulSet are alike; a node that the pod names is left out, so that those of a DaemonSet are.
 */
export function classSignature(pod: Pod, labelKeys: ReadonlySet<string>, belongsTo: string, isPinned: boolean): string {
  const spec = pod.spec!
  const { namespace, labels } = pod.metadata
  const parts: unknown[] = [namespace, belongsTo, spec.schedulerName, spec.priority]
  if (labels) for (const key in labels) if (labelKeys.has(key)) parts.push(key, labels[key])
  for (const container of spec.containers) containerParts(container, parts)
  if (spec.initContainers) for (const container of spec.initContainers) containerParts(container, parts)
  if (spec.nodeSelector) parts.push(spec.nodeSelector)
  if (spec.affinity) parts.push(isPinned ? withoutPins(spec) : spec.affinity)
  if (spec.tolerations) parts.push(spec.tolerations)
  if (spec.topologySpreadConstraints) parts.push(spec.topologySpreadConstraints)
  if (spec.overhead) parts.push(spec.overhead)
  if (spec.resources) parts.push(spec.resources)
  return JSON.stringify(parts)
}

function containerParts({ image, resources, ports, restartPolicy }: Container, parts: unknown[]): void {
  parts.push(image)
  if (restartPolicy) parts.push(restartPolicy)
  if (resources?.requests) parts.push(resources.requests)
  if (ports) for (const port of ports) if (port.hostPort) parts.push(port)
}

function withoutPins({ affinity }: PodSpec): unknown {
  const { requiredDuringSchedulingIgnoredDuringExecution: required, ...preferred } = affinity!.nodeAffinity!
  return { ...affinity, nodeAffinity: { ...preferred, required: required && expressionsOf(required) } }
}

const expressionsOf = ({ nodeSelectorTerms }: NodeSelector) => nodeSelectorTerms.map((term) => term.matchExpressions)

/** The same pod without the node it names, as the class of its like sees it. */
export function withoutPinnedNodes(pod: Pod): Pod {
  const spec = pod.spec!
  const { requiredDuringSchedulingIgnoredDuringExecution: required, ...preferred } = spec.affinity!.nodeAffinity!
  const terms = required!.nodeSelectorTerms.flatMap(({ matchExpressions }) =>
    matchExpressions?.length ? [{ matchExpressions }] : [],
  )
  const kept = terms.length === required!.nodeSelectorTerms.length ? terms : []
  const nodeAffinity = {
    ...preferred,
    ...(kept.length > 0 && { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: kept } }),
  }
  return { ...pod, spec: { ...spec, affinity: { ...spec.affinity, nodeAffinity } } }
}
