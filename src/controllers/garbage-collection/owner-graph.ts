import { type ObjectMeta, type OwnerReference, parseApiVersion } from '../../api/meta/object.ts'
import { getOrCreate } from '../../base/get-or-create.ts'
import type { ServedType } from '../served-types.ts'
import { BoundedSet } from './bounded-set.ts'
import { isDeletingDependents, isOrphaningDependents, ownersOf } from './metadata.ts'

/** An object as the graph knows it. */
export interface Node {
  readonly type: ServedType
  readonly metadata: ObjectMeta
}

/** So many objects that are gone are remembered, so that their dependents need not ask for each of them. */
const REMEMBERED = 10_000

/**
 * Who owns whom, over all kinds. It is told every change of every object, and answers with the uids of the objects that
 * somebody must look at because of it: work is proportional to the change, not to the graph.
 */
export class OwnerGraph {
  readonly #nodes = new Map<string, Node>()
  /** By uid of the owner, whether it is known or not. */
  readonly #dependents = new Map<string, Map<string, Node>>()
  readonly #gone = new BoundedSet(REMEMBERED)

  get(uid: string): Node | undefined {
    return this.#nodes.get(uid)
  }

  /** Was seen to be deleted; a uid never comes back. */
  isGone(uid: string): boolean {
    return this.#gone.has(uid)
  }

  *dependentsOf(uid: string): Iterable<Node> {
    yield* this.#dependents.get(uid)?.values() ?? []
  }

  hasDependents(uid: string): boolean {
    return this.#dependents.has(uid)
  }

  change(type: ServedType, old: ObjectMeta | undefined, current: ObjectMeta | undefined): Set<string> {
    const affected = new Set<string>()
    if (old && old.uid !== current?.uid) {
      this.#gone.add(old.uid!)
      this.#remove(old, affected)
    }
    if (current) this.#set({ type, metadata: current }, old?.uid === current.uid ? old : undefined, affected)
    return affected
  }

  /** The object is no longer watched: whether it is there must be asked. */
  forget(metadata: ObjectMeta): Set<string> {
    const affected = new Set<string>()
    this.#remove(metadata, affected)
    return affected
  }

  #remove(old: ObjectMeta, affected: Set<string>): void {
    const uid = old.uid!
    this.#nodes.delete(uid)
    for (const reference of ownersOf(old)) this.#unlink(reference.uid, uid, affected)
    for (const dependent of this.dependentsOf(uid)) affected.add(dependent.metadata.uid!)
  }

  #set(node: Node, old: ObjectMeta | undefined, affected: Set<string>): void {
    const { metadata } = node
    const uid = metadata.uid!
    this.#nodes.set(uid, node)
    this.#link(node, old, affected)
    if (isOrphaningDependents(metadata) && !isOrphaningDependents(old)) affected.add(uid)
    if (isDeletingDependents(metadata) && !isDeletingDependents(old)) {
      affected.add(uid)
      for (const dependent of this.dependentsOf(uid)) affected.add(dependent.metadata.uid!)
    }
  }

  #link(node: Node, old: ObjectMeta | undefined, affected: Set<string>): void {
    const uid = node.metadata.uid!
    const owners = ownersOf(node.metadata)
    for (const { uid: owner } of ownersOf(old))
      if (!owners.some((reference) => reference.uid === owner)) this.#unlink(owner, uid, affected)
    for (const reference of owners) {
      getOrCreate(this.#dependents, reference.uid, () => new Map<string, Node>()).set(uid, node)
      if (!this.isSolid(reference, node)) affected.add(uid)
      this.#tellWaiting(reference.uid, affected)
    }
  }

  #unlink(owner: string, uid: string, affected: Set<string>): void {
    const dependents = this.#dependents.get(owner)
    dependents?.delete(uid)
    if (dependents?.size === 0) this.#dependents.delete(owner)
    this.#tellWaiting(owner, affected)
  }

  #tellWaiting(owner: string, affected: Set<string>): void {
    if (isDeletingDependents(this.#nodes.get(owner)?.metadata)) affected.add(owner)
  }

  /** The owner is there, is what the reference says, and does not wait for this dependent to go. */
  isSolid(reference: OwnerReference, dependent: Node): boolean {
    const owner = this.#nodes.get(reference.uid)
    return owner !== undefined && isSame(owner, reference, dependent) && !isDeletingDependents(owner.metadata)
  }
}

/** Does the reference say of the owner what is true? An owner has no namespace, or the one of its dependent. */
export function isSame({ type, metadata }: Node, reference: OwnerReference, dependent: Node): boolean {
  return (
    metadata.name === reference.name &&
    type.kind === reference.kind &&
    type.group === parseApiVersion(reference.apiVersion).group &&
    !isElsewhere({ type, metadata }, dependent)
  )
}

export const isElsewhere = (owner: Node, dependent: Node) =>
  owner.type.namespaced && owner.metadata.namespace !== dependent.metadata.namespace
