import type {
  Node,
  NodeSelector,
  NodeSelectorRequirement,
  NodeSelectorTerm,
  PodSpec,
} from '../../api/generated/core-v1.ts'
import { type LabelOperator, requirement } from '../../api/meta/label-requirement.ts'

type NodeTest = (node: Node) => boolean

const OPERATORS: ReadonlyMap<string, LabelOperator> = new Map([
  ['In', 'in'],
  ['NotIn', 'notin'],
  ['Exists', 'exists'],
  ['DoesNotExist', '!'],
  ['Gt', 'gt'],
  ['Lt', 'lt'],
])

/** All of a term must hold; a term without conditions selects nothing. */
export function compileNodeTerm(term: NodeSelectorTerm): NodeTest {
  const tests = [
    ...(term.matchExpressions ?? []).map((each) => compileExpression(each)),
    ...(term.matchFields ?? []).map((each) => compileField(each)),
  ]
  return tests.length === 0 ? () => false : (node) => tests.every((test) => test(node))
}

/** One of the terms must hold. */
export function compileNodeSelector(selector: NodeSelector): NodeTest {
  const terms = selector.nodeSelectorTerms.map(compileNodeTerm)
  return (node) => terms.some((term) => term(node))
}

function compileExpression({ key, operator, values = [] }: NodeSelectorRequirement): NodeTest {
  const known = OPERATORS.get(operator)
  if (!known) return () => false
  const one = requirement(key, known, values)
  return (node) => one.matches(node.metadata.labels)
}

/** The only field of a node that can be selected is its name. */
function compileField({ key, operator, values = [] }: NodeSelectorRequirement): NodeTest {
  if (key !== 'metadata.name') return () => false
  if (operator === 'In') return (node) => values.includes(node.metadata.name!)
  if (operator === 'NotIn') return (node) => !values.includes(node.metadata.name!)
  return () => false
}

/** What a pod's nodeSelector and required node affinity demand together; undefined if nothing. */
export function requiredNodes(spec: PodSpec): NodeTest | undefined {
  const labels = Object.entries(spec.nodeSelector ?? {})
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
  if (labels.length === 0 && !required) return undefined
  const affinity = required ? compileNodeSelector(required) : () => true
  return (node) => {
    const own = node.metadata.labels ?? {}
    return labels.every(([key, value]) => Object.hasOwn(own, key) && own[key] === value) && affinity(node)
  }
}

/** The nodes a pod names itself in every term of its required affinity, as a DaemonSet's pods do. */
export function pinnedNodes(spec: PodSpec): ReadonlySet<string> | undefined {
  const terms = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms
  if (!terms?.length) return undefined
  const pinned = new Set<string>()
  for (const term of terms) {
    const names = term.matchFields?.filter((each) => each.key === 'metadata.name' && each.operator === 'In')
    if (!names?.length) return undefined
    for (const name of names[0]!.values ?? []) if (names.every((each) => each.values?.includes(name))) pinned.add(name)
  }
  return pinned
}
