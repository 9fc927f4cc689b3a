import type { Node, NodeSelectorRequirement, NodeSelectorTerm, Pod, Taint } from '../../api/generated/core-v1.ts'
import { aggregateRequests, parseAmount } from '../../api/kinds/core/pod/resources.ts'
import { type LabelOperator, requirement } from '../../api/meta/label-requirement.ts'
import { milliValue, value } from '../../api/meta/quantity.ts'
import { checkSysctls } from './sysctl-admission.ts'

/** Why a pod that was bound to this node does not run on it. */
export interface Rejection {
  readonly reason: string
  readonly message: string
}

/** The second check, on the node itself: the scheduler may have decided on what was true a moment ago. */
export function admitPod(pod: Pod, node: Node, others: readonly Pod[]): Rejection | undefined {
  return (
    checkSysctls(pod) ??
    checkResources(pod, node, others) ??
    checkAffinity(pod, node) ??
    checkPorts(pod, others) ??
    checkTaints(pod, node)
  )
}

/** A pod that is here already asks for more, or for less. */
export function admitResize(pod: Pod, node: Node, others: readonly Pod[]): Rejection | undefined {
  const allocatable = node.status?.allocatable ?? {}
  for (const [name, requested] of podRequests(pod)) {
    const capacity = allocatable[name] === undefined ? undefined : inUnits(name, allocatable[name])
    if (capacity === undefined || requested <= capacity) continue
    const figures = `requested: ${requested}, capacity: ${capacity}`
    return { reason: 'Infeasible', message: `Node didn't have enough capacity: ${name}, ${figures}` }
  }
  const rejection = checkResources(pod, node, others)
  return rejection && { reason: 'Deferred', message: rejection.message }
}

type Amounts = ReadonlyMap<string, number>

const inUnits = (name: string, amount: string | number) => {
  const quantity = parseAmount(amount)
  if (!quantity) return 0
  return name === 'cpu' ? milliValue(quantity) : value(quantity)
}

/** What a pod asks for, cpu in thousandths; its own place counts as one of `pods`. */
export function podRequests({ spec }: Pod): Amounts {
  const amounts = new Map([['pods', 1]])
  if (!spec) return amounts
  for (const [name, amount] of aggregateRequests(spec)) amounts.set(name, inUnits(name, amount))
  for (const [name, amount] of Object.entries(spec.overhead ?? {}))
    amounts.set(name, (amounts.get(name) ?? 0) + inUnits(name, amount))
  return amounts
}

function checkResources(pod: Pod, node: Node, others: readonly Pod[]): Rejection | undefined {
  const allocatable = node.status?.allocatable ?? {}
  const used = new Map<string, number>()
  for (const other of others)
    for (const [name, amount] of podRequests(other)) used.set(name, (used.get(name) ?? 0) + amount)
  for (const [name, requested] of podRequests(pod)) {
    const amount = allocatable[name]
    if (requested === 0 || amount === undefined) continue
    const capacity = inUnits(name, amount)
    const taken = used.get(name) ?? 0
    if (taken + requested <= capacity) continue
    const figures = `requested: ${requested}, used: ${taken}, capacity: ${capacity}`
    return { reason: `OutOf${name}`, message: `Node didn't have enough resource: ${name}, ${figures}` }
  }
  return undefined
}

const failed = (reason: string, text: string): Rejection => ({ reason, message: `Predicate ${reason} failed: ${text}` })

function checkAffinity({ spec }: Pod, node: Node): Rejection | undefined {
  const labels = node.metadata.labels ?? {}
  const selected = Object.entries(spec?.nodeSelector ?? {}).every(([key, wanted]) => labels[key] === wanted)
  const terms = spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms
  if (selected && (!terms || terms.some((term) => matchesTerm(term, node)))) return undefined
  return failed('NodeAffinity', "node(s) didn't match Pod's node affinity/selector")
}

const OPERATORS: ReadonlyMap<string, LabelOperator> = new Map([
  ['In', 'in'],
  ['NotIn', 'notin'],
  ['Exists', 'exists'],
  ['DoesNotExist', '!'],
  ['Gt', 'gt'],
  ['Lt', 'lt'],
])

function matchesTerm({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm, { metadata }: Node): boolean {
  if (matchExpressions.length + matchFields.length === 0) return false
  const holds = ({ key, operator, values = [] }: NodeSelectorRequirement, labels: Record<string, string>) => {
    const known = OPERATORS.get(operator)
    return known !== undefined && requirement(key, known, values).matches(labels)
  }
  return (
    matchExpressions.every((each) => holds(each, metadata.labels ?? {})) &&
    matchFields.every((each) => holds(each, { 'metadata.name': metadata.name ?? '' }))
  )
}

function* hostPorts({ spec }: Pod): Iterable<{ ip: string; port: number; protocol: string }> {
  for (const { ports = [] } of [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])])
    for (const { hostPort, hostIP, protocol = 'TCP' } of ports)
      if (hostPort) yield { ip: hostIP || '0.0.0.0', port: hostPort, protocol }
}

function checkPorts(pod: Pod, others: readonly Pod[]): Rejection | undefined {
  const wanted = [...hostPorts(pod)]
  if (wanted.length === 0) return undefined
  for (const other of others)
    for (const taken of hostPorts(other))
      for (const { ip, port, protocol } of wanted)
        if (port === taken.port && protocol === taken.protocol && overlap(ip, taken.ip))
          return failed('NodePorts', "node(s) didn't have free ports for the requested pod ports")
  return undefined
}

const overlap = (a: string, b: string) => a === b || a === '0.0.0.0' || b === '0.0.0.0'

/** Pods that are on the node already may stay despite NoSchedule; NoExecute means that nothing may be there. */
function checkTaints({ spec }: Pod, node: Node): Rejection | undefined {
  const untolerated = node.spec?.taints?.some(
    (taint) => taint.effect === 'NoExecute' && !spec?.tolerations?.some((each) => tolerates(each, taint)),
  )
  return untolerated ? failed('TaintToleration', "node(s) had taints that the pod didn't tolerate") : undefined
}

interface Toleration {
  readonly key?: string
  readonly operator?: string
  readonly value?: string
  readonly effect?: string
}

function tolerates(toleration: Toleration, taint: Taint): boolean {
  if (toleration.effect && toleration.effect !== taint.effect) return false
  if (toleration.key && toleration.key !== taint.key) return false
  if (toleration.operator === 'Exists') return true
  return Boolean(toleration.key) && (toleration.value ?? '') === (taint.value ?? '')
}
