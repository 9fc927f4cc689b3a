import type { ContainerImage } from '../../api/generated/core-v1.ts'

interface Image {
  readonly size: number
  readonly nodes: Set<number>
}

/** Which node has which image. */
export class ImageTable {
  readonly #images = new Map<string, Image>()
  readonly #ofNode = new Map<number, readonly ContainerImage[]>()
  #nodeCount = 0
  /** Changes when any image has moved, or the share of nodes that have it. */
  version = 0

  set(node: number, images: readonly ContainerImage[] | undefined, nodeCount: number): void {
    const old = this.#ofNode.get(node)
    const isKnown = this.#images.size > 0
    if (old !== images) {
      for (const { names } of old ?? []) for (const name of names ?? []) this.#remove(name, node)
      if (images?.length) this.#ofNode.set(node, images)
      else this.#ofNode.delete(node)
      for (const { names, sizeBytes } of images ?? [])
        for (const name of names ?? []) this.#add(name, node, sizeBytes ?? 0)
    }
    const changed = nodeCount !== this.#nodeCount
    this.#nodeCount = nodeCount
    if ((isKnown || this.#images.size > 0) && (changed || old !== images)) this.version++
  }

  /** The size of an image on a node, scaled by how many nodes have it: a rare image should not heat up one node. */
  scaledSize(name: string, node: number): number {
    const image = this.#images.get(name)
    if (!image?.nodes.has(node)) return 0
    return Math.trunc(image.size * (image.nodes.size / this.#nodeCount))
  }

  has(name: string): boolean {
    return this.#images.has(name)
  }

  #add(name: string, node: number, size: number): void {
    const known = this.#images.get(name)
    if (known) known.nodes.add(node)
    else this.#images.set(name, { size, nodes: new Set([node]) })
  }

  #remove(name: string, node: number): void {
    const known = this.#images.get(name)
    if (known?.nodes.delete(node) && known.nodes.size === 0) this.#images.delete(name)
  }
}
