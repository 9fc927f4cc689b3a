import type { DaemonSet } from '../../api/generated/apps-v1.ts'
import type { Node, NodeSelectorRequirement, NodeSelectorTerm, Toleration } from '../../api/generated/core-v1.ts'
import { tolerates } from '../taint-eviction/tolerations.ts'
import { daemonTolerations } from './daemon-pod.ts'

export interface Eligibility {
  /** The node should have a pod. */
  readonly shouldRun: boolean
  /** A pod that is there may stay. */
  readonly mayStay: boolean
}

const RUN: Eligibility = { shouldRun: true, mayStay: true }
const STAY: Eligibility = { shouldRun: false, mayStay: true }
const NEITHER: Eligibility = { shouldRun: false, mayStay: false }

/** Which nodes a DaemonSet is for: those that its template selects and whose taints its pods tolerate. */
export function eligibility(daemonSet: DaemonSet): (node: Node) => Eligibility {
  const spec = daemonSet.spec?.template.spec
  const selector = Object.entries(spec?.nodeSelector ?? {})
  const terms = spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms
  const tolerations = daemonTolerations(spec)
  return (node) => {
    if (spec?.nodeName && spec.nodeName !== node.metadata.name) return NEITHER
    const labels = node.metadata.labels ?? {}
    if (!selector.every(([key, value]) => labels[key] === value)) return NEITHER
    if (terms && !terms.some((term) => matchesTerm(node, term))) return NEITHER
    return toleration(node, tolerations)
  }
}

function toleration(node: Node, tolerations: readonly Toleration[]): Eligibility {
  let result = RUN
  for (const taint of node.spec?.taints ?? []) {
    if (taint.effect === 'PreferNoSchedule' || tolerations.some((one) => tolerates(one, taint))) continue
    if (taint.effect === 'NoExecute') return NEITHER
    result = STAY
  }
  return result
}

/** A term without requirements selects nothing. */
function matchesTerm(node: Node, { matchExpressions = [], matchFields = [] }: NodeSelectorTerm): boolean {
  if (matchExpressions.length === 0 && matchFields.length === 0) return false
  const labels = node.metadata.labels ?? {}
  return (
    matchExpressions.every((requirement) => matches(labels[requirement.key], requirement)) &&
    matchFields.every((requirement) => requirement.key === 'metadata.name' && matches(node.metadata.name, requirement))
  )
}

function matches(value: string | undefined, { operator, values = [] }: NodeSelectorRequirement): boolean {
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value)
    case 'NotIn':
      return value === undefined || !values.includes(value)
    case 'Exists':
      return value !== undefined
    case 'DoesNotExist':
      return value === undefined
    case 'Gt':
      return isInteger(value) && isInteger(values[0]) && BigInt(value) > BigInt(values[0])
    case 'Lt':
      return isInteger(value) && isInteger(values[0]) && BigInt(value) < BigInt(values[0])
    default:
      return false
  }
}

const isInteger = (text: string | undefined): text is string => text !== undefined && /^-?\d+$/.test(text)
