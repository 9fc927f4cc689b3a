/** The folders of a layer as it is unpacked: which there are, what shines through from below, what they will look like. */
import { Folder } from '../../../linux/folder.ts'

/** A finished layer. */
export interface LowerLayer {
  readonly root: Folder
  /** Folders that hide what is below, as paths in the image. */
  readonly opaque: ReadonlySet<string>
}

/** Set when everything else is done: a mode may forbid to go on, and each new file changes the time. */
export interface FolderAttributes {
  readonly uid?: number
  readonly gid?: number
  readonly mode: number
  readonly mtime?: number
}

export class LayerFolder {
  /** In the image; empty for its root. */
  readonly path: string
  readonly name: string
  readonly parent: LayerFolder | undefined
  readonly children = new Map<string, LayerFolder>()
  /** Layers whose folder of the same path shines through, the topmost first. */
  lowers: readonly LowerLayer[]
  isOpaque = false
  attributes: FolderAttributes | undefined
  /** Names that entries of this very layer have. */
  readonly brought = new Set<string>()

  constructor(path: string, parent: LayerFolder | undefined, lowers: readonly LowerLayer[]) {
    this.path = path
    this.name = path.slice(path.lastIndexOf('/') + 1)
    this.parent = parent
    this.lowers = lowers
  }

  pathOf(name: string): string {
    return this.path === '' ? name : `${this.path}/${name}`
  }

  /** False once it, or a folder around it, was removed. */
  get isThere(): boolean {
    for (let folder: LayerFolder = this; folder.parent; folder = folder.parent)
      if (folder.parent.children.get(folder.name) !== folder) return false
    return true
  }

  /** Nothing of the layers below shines through here. */
  hideBelow(): void {
    // What is inside shows less from below than this one does.
    if (this.lowers.length === 0) return
    this.lowers = []
    for (const child of this.children.values()) child.hideBelow()
  }

  /** This one and all in it, inner ones first. */
  all(): LayerFolder[] {
    const found: LayerFolder[] = [this]
    for (let i = 0; i < found.length; i++) found.push(...found[i]!.children.values())
    return found.reverse()
  }
}

/** Two are in use at a time. */
const MOST_OPEN = 64

/** Descriptors of the folders that were used last. */
export class OpenFolders implements Disposable {
  readonly root: Folder
  readonly #open = new Map<LayerFolder, Folder>()

  constructor(root: string) {
    this.root = Folder.open(root)
  }

  get(folder: LayerFolder): Folder {
    if (!folder.parent) return this.root
    const opened = this.#open.get(folder) ?? this.#openNew(folder, folder.parent)
    // The last in the map is the one that was used last.
    this.#open.delete(folder)
    this.#open.set(folder, opened)
    if (this.#open.size > MOST_OPEN) this.close(this.#open.keys().next().value!)
    return opened
  }

  /** From the folder around it if that is open: a deep path takes the kernel long. */
  #openNew({ path, name }: LayerFolder, parent: LayerFolder): Folder {
    return this.#open.get(parent)?.folder(name) ?? this.root.folder(path)
  }

  close(folder: LayerFolder): void {
    this.#open.get(folder)?.[Symbol.dispose]()
    this.#open.delete(folder)
  }

  [Symbol.dispose](): void {
    for (const opened of this.#open.values()) opened[Symbol.dispose]()
    this.#open.clear()
    this.root[Symbol.dispose]()
  }
}
