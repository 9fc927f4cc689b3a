import type { FieldsV1 } from '../api/meta/object.ts'
import { getOrCreate } from '../base/get-or-create.ts'

/**
 * A set of fields. Its form is that of `fieldsV1` in the API, so what is stored is what is computed with: a tree
 * whose edges are path elements (`f:name`, `k:{"name":"a"}`, `v:"a"`, `i:0`). A node without edges is a member; a
 * member that also has members below it carries the edge `.`. The empty set is undefined. Never changed once made,
 * so sets share their branches. What is stored is in order; in between the order of edges means nothing.
 */
export type FieldSet = FieldsV1 | undefined

/** The node of a member with nothing below it. */
export const LEAF: FieldsV1 = Object.freeze({})

export const isMember = (node: FieldsV1): boolean => {
  if ('.' in node) return true
  for (const _ in node) return false
  return true
}

/** The set of a tree that has just been built; a root without edges has no members. */
export const setOf = (root: FieldsV1): FieldSet => {
  for (const _ in root) return root
  return undefined
}

const isLeaf = (node: FieldsV1): boolean => {
  for (const element in node) if (element !== '.') return false
  return true
}

/** All that is in one or the other. Both are nodes below the root, or both are roots that are not empty. */
export function union(a: FieldSet, b: FieldSet): FieldSet {
  if (a === undefined || a === b) return b
  if (b === undefined) return a
  if (isLeaf(b)) return isMember(a) ? a : { '.': LEAF, ...a }
  const result: FieldsV1 = isMember(a) ? { '.': LEAF, ...a } : { ...a }
  for (const element in b) result[element] = element === '.' ? LEAF : union(result[element], b[element])!
  return result
}

/** All that is in any of the sets. Each is read once, however many there are. */
export function unionAll(sets: readonly FieldSet[]): FieldSet {
  const root = new GrowingNode()
  for (const set of sets) if (set !== undefined) root.add(set)
  return setOf(root.edges())
}

/** A node of a set that others are added to. */
class GrowingNode {
  readonly #children = new Map<string, GrowingNode>()
  #isMember = false

  add(node: FieldsV1): void {
    let hasEdges = false
    for (const element in node) {
      hasEdges = true
      if (element === '.') this.#isMember = true
      else getOrCreate(this.#children, element, () => new GrowingNode()).add(node[element]!)
    }
    if (!hasEdges) this.#isMember = true
  }

  edges(): FieldsV1 {
    const node: FieldsV1 = {}
    for (const [element, child] of this.#children) node[element] = child.#result()
    return node
  }

  #result(): FieldsV1 {
    if (this.#children.size === 0) return LEAF
    return this.#isMember ? { '.': LEAF, ...this.edges() } : this.edges()
  }
}

/** What is in `a` and not in `b`. A branch that stays as it was is the same object as before. */
export function difference(a: FieldSet, b: FieldSet): FieldSet {
  if (a === undefined || b === undefined) return a
  const wasMember = isMember(a)
  const stays = wasMember && !isMember(b)
  let result: FieldsV1 | undefined = stays === wasMember ? undefined : { ...a }
  // As a rule `b` is small, so its edges are followed and not those of `a`.
  for (const element in b) {
    const child = element === '.' ? undefined : a[element]
    if (child === undefined) continue
    const rest = difference(child, b[element])
    if (rest === child) continue
    result ??= { ...a }
    if (rest === undefined) delete result[element]
    else result[element] = rest
  }
  return result === undefined ? a : normalised(result, stays)
}

/** The same where `a` is small and `b` may be large: the edges of `a` are followed. */
export function smallDifference(a: FieldSet, b: FieldSet): FieldSet {
  if (a === undefined || b === undefined) return a
  const stays = isMember(a) && !isMember(b)
  const result: FieldsV1 = {}
  let isSame = stays === isMember(a)
  for (const element in a) {
    if (element === '.') continue
    const child = a[element]!
    const rest = smallDifference(child, b[element])
    if (rest !== child) isSame = false
    if (rest !== undefined) result[element] = rest
  }
  return isSame ? a : normalised(result, stays)
}

/** A node whose edges are right except perhaps `.`. */
function normalised(node: FieldsV1, isMember: boolean): FieldSet {
  if (isLeaf(node)) return isMember ? LEAF : undefined
  if (isMember) node['.'] = LEAF
  else delete node['.']
  return node
}

/** What is in both. */
export function intersection(a: FieldSet, b: FieldSet): FieldSet {
  if (a === undefined || b === undefined) return undefined
  const result: FieldsV1 = {}
  let isEmpty = true
  for (const element in a) {
    if (element === '.') continue
    const shared = intersection(a[element], b[element])
    if (shared === undefined) continue
    result[element] = shared
    isEmpty = false
  }
  if (!(isMember(a) && isMember(b))) return isEmpty ? undefined : result
  return isEmpty ? LEAF : { '.': LEAF, ...result }
}

/** What is in `a`, without the members of `b` and all that is below them. */
export function without(a: FieldSet, b: FieldSet): FieldSet {
  if (a === undefined || b === undefined) return a
  const result: FieldsV1 = {}
  let isEmpty = true
  for (const element in a) {
    const removed = b[element]
    const rest = removed === undefined || element === '.' ? a[element] : withoutBranch(a[element]!, removed)
    if (rest === undefined) continue
    result[element] = rest
    if (element !== '.') isEmpty = false
  }
  if (isEmpty) return isMember(a) ? LEAF : undefined
  return result
}

const withoutBranch = (a: FieldsV1, b: FieldsV1): FieldSet => (isMember(b) ? undefined : without(a, b))

export function equalSets(a: FieldSet, b: FieldSet): boolean {
  if (a === b) return true
  if (a === undefined || b === undefined || isMember(a) !== isMember(b)) return false
  let edges = 0
  for (const element in a) {
    if (element === '.') continue
    if (!equalSets(a[element], b[element])) return false
    edges++
  }
  for (const element in b) if (element !== '.') edges--
  return edges === 0
}

/** The same set with the edges of each node in order, as clients know it that compare the bytes. */
export function inOrder(node: FieldsV1): FieldsV1 {
  let last = ''
  let isSorted = true
  let result: FieldsV1 | undefined
  for (const element in node) {
    if (element < last) isSorted = false
    last = element
    const child = node[element]!
    const ordered = inOrder(child)
    if (ordered === child) continue
    result ??= { ...node }
    result[element] = ordered
  }
  result ??= node
  return isSorted ? result : withSortedEdges(result)
}

function withSortedEdges(node: FieldsV1): FieldsV1 {
  const result: FieldsV1 = {}
  for (const element of Object.keys(node).sort()) result[element] = node[element]!
  return result
}

/** Every member as users read it: `.spec.containers[name="nginx"].image`. Sorted. */
export function memberPaths(set: FieldSet): string[] {
  const paths: string[] = []
  const visit = (node: FieldsV1, path: string) => {
    if (path !== '' && isMember(node)) paths.push(path)
    for (const element in node) if (element !== '.') visit(node[element]!, path + elementText(element))
  }
  if (set !== undefined) visit(set, '')
  return paths.sort()
}

export function elementText(element: string): string {
  const text = element.slice(2)
  if (element.startsWith('f:')) return `.${text}`
  if (element.startsWith('v:')) return `[=${text}]`
  if (!element.startsWith('k:')) return `[${text}]`
  const keys = Object.entries(JSON.parse(text) as Record<string, unknown>)
  return `[${keys.map(([key, value]) => `${key}=${JSON.stringify(value)}`).join(',')}]`
}
