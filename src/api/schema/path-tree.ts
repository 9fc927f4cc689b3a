export type Path = readonly (string | number)[]

/** A set of paths that a reader follows step by step, so that finding one costs nothing per level. */
export class PathTree {
  /** Stands for everything below a path of the set. */
  static readonly BELOW = new PathTree()
  readonly #children = new Map<string | number, PathTree>()
  #isMember = false

  static of(paths: readonly Path[]): PathTree {
    const tree = new PathTree()
    for (const path of paths) tree.#add(path)
    return tree
  }

  #add(path: Path): void {
    let node: PathTree = this
    for (const step of path) {
      const next = node.#children.get(step) ?? new PathTree()
      node.#children.set(step, next)
      node = next
    }
    node.#isMember = true
  }

  /** Whether the path that led here is one of the set. */
  get isMember(): boolean {
    return this.#isMember
  }

  child(step: string | number): PathTree | undefined {
    return this === PathTree.BELOW || this.#isMember ? PathTree.BELOW : this.#children.get(step)
  }
}
