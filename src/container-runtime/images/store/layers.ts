/** Unpacked layers. A layer is named after all it stands on (its chain id), as it is unpacked in view of what is below. */
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { badImage, imageError } from '../image-error.ts'
import type { ImageLimits } from '../limits.ts'
import { decompressed } from '../unpack/decompress.ts'
import { LayerTree } from '../unpack/layer-tree.ts'
import type { PrivilegedFiles } from '../unpack/privileged-files.ts'
import { unpackLayer } from '../unpack/unpack-layer.ts'
import { linkTree } from './link-tree.ts'
import type { StoreFolder } from './store-folder.ts'

export interface LayerRecord {
  readonly id: string
  readonly diffId: string
  readonly parent: string | undefined
  /** Holds what is below as well. */
  readonly flat: boolean
  readonly opaque: readonly string[]
  readonly bytes: number
  readonly entries: number
}

export interface LayersOptions {
  readonly folder: StoreFolder
  readonly files: PrivilegedFiles
  readonly limits: ImageLimits
  /** Overlay's marks cannot be made here. */
  readonly flat: boolean
  readonly opaqueAttribute: string
}

export interface NewLayer {
  readonly id: string
  readonly diffId: string
  readonly parent: string | undefined
  readonly tar: AsyncIterable<Buffer>
  /** A folder of the pull's own. */
  readonly work: string
}

export class Layers {
  readonly #options: LayersOptions
  readonly #records = new Map<string, LayerRecord>()

  constructor(options: LayersOptions) {
    this.#options = options
  }

  root(id: string): string {
    return path.join(this.#options.folder.layers, id, 'fs')
  }

  /** Layers appear whole and never change, so one look is enough, until they are gone. */
  get(id: string): LayerRecord | undefined {
    const file = path.join(this.#options.folder.layers, id, 'layer.json')
    const known = this.#records.get(id)
    if (known) {
      if (fs.existsSync(file)) return known
      this.#records.delete(id)
      return undefined
    }
    try {
      const record = JSON.parse(fs.readFileSync(file, 'utf8')) as LayerRecord
      this.#records.set(id, record)
      return record
    } catch {
      return undefined
    }
  }

  /** The layers of a file system, the topmost first; undefined if one is missing. */
  stack(top: string | undefined): readonly LayerRecord[] | undefined {
    const stack: LayerRecord[] = []
    for (let id = top; id !== undefined; ) {
      const record = this.get(id)
      if (!record) return undefined
      stack.push(record)
      // The root itself cannot be opaque for overlay.
      id = record.flat || record.opaque.includes('') ? undefined : record.parent
    }
    return stack
  }

  list(): string[] {
    return fs.readdirSync(this.#options.folder.layers)
  }

  /** Unpacks it, checks what was unpacked, and makes it appear. */
  async add({ id, diffId, parent, tar, work }: NewLayer): Promise<void> {
    const { files, limits, flat, opaqueAttribute } = this.#options
    const below = this.stack(parent)
    if (!below) throw imageError('Unavailable', `the layer below ${diffId} is gone`)
    const draft = path.join(work, id)
    const root = path.join(draft, 'fs')
    const removed = path.join(work, `removed-${id}`)
    fs.mkdirSync(root, { recursive: true, mode: 0o755 })
    fs.chmodSync(root, 0o755)
    fs.mkdirSync(removed, { mode: 0o700 })
    const isFlat = flat && below.length > 0
    const modes = isFlat ? this.#copyBelow(below, root) : new Map<string, number>()
    const lowers = isFlat ? [] : below.map((layer) => ({ root: this.root(layer.id), opaque: new Set(layer.opaque) }))
    using tree = new LayerTree({ root, removed, lowers, flat: isFlat, files, opaqueAttribute, modes })
    const hash = createHash('sha256')
    const unpacked = await unpackLayer(hashed(decompressed(tar), hash, limits.layerBytes), { tree, files, limits })
    const digest = `sha256:${hash.digest('hex')}`
    if (digest !== diffId) throw badImage(`wrong diff id calculated on extraction "${digest}", expected "${diffId}"`)
    const record: LayerRecord = { id, diffId, parent, flat: isFlat, opaque: tree.opaque(), ...unpacked }
    fs.writeFileSync(path.join(draft, 'layer.json'), JSON.stringify(record), { mode: 0o600 })
    this.#appear(draft, id)
  }

  /** Somebody else may have been faster, with the same. */
  #appear(draft: string, id: string): void {
    try {
      fs.renameSync(draft, path.join(this.#options.folder.layers, id))
    } catch (error) {
      if (!['ENOTEMPTY', 'EEXIST'].includes((error as NodeJS.ErrnoException).code ?? '') || !this.get(id)) throw error
    }
  }

  #copyBelow(below: readonly LayerRecord[], root: string): Map<string, number> {
    if (below.length > 1) throw imageError('FailedPrecondition', 'layers below were unpacked with rights we have not')
    return linkTree(this.root(below[0]!.id), root)
  }
}

/** Also the filling after a tar's end counts: for the digest, and against endless zeros. */
async function* hashed(source: AsyncIterable<Buffer>, hash: ReturnType<typeof createHash>, limit: number) {
  let total = 0
  for await (const bytes of source) {
    total += bytes.length
    // Headers come on top of the files' own bytes.
    if (total > 2 * limit) throw badImage(`a layer of more than ${limit} bytes`)
    hash.update(bytes)
    yield bytes
  }
}

/** What each layer is called, given what it stands on: the rule of the OCI image specification. */
export function chainIds(diffIds: readonly string[]): string[] {
  const chain: string[] = []
  for (const diffId of diffIds) {
    const below = chain.at(-1)
    if (below === undefined) chain.push(diffId)
    else chain.push(`sha256:${createHash('sha256').update(`${below} ${diffId}`).digest('hex')}`)
  }
  return chain.map((digest) => digest.slice('sha256:'.length))
}
