/** Removes a folder with everything in it, whatever a pod or an image has put there, and however it changes meanwhile. */
import { chmod, readdir, rename, rm, rmdir, unlink } from 'node:fs/promises'
import path from 'node:path'
import { entryOf, O_FOLDER, type Opened, openBeneath, openFolder } from './beneath.ts'

/** How often in all something is looked at again, because it has changed meanwhile. */
const MOST_RETRIES = 1000
const CHANGED = new Set(['ENOTEMPTY', 'ENOTDIR', 'ELOOP'])
const AT_ONCE = 16
/** Each level holds a descriptor: what is deeper is moved to the top first. */
const DEEPEST = 64

/**
 * Never follows a link and never removes through a mount, not even one of the same file system: that is an error, with
 * what is mounted untouched. Nothing there is no error.
 */
export async function removeTree(tree: string): Promise<void> {
  // Elsewhere there are no pods.
  if (process.platform !== 'linux') return rm(tree, { recursive: true, force: true })
  const place = path.resolve(tree)
  try {
    using parent = await openFolder(path.dirname(place))
    await new Removal(place).remove(parent.descriptor, Buffer.from(path.basename(place)))
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error
  }
}

class Removal {
  readonly #place: string
  #top: Opened | undefined
  readonly #moved: Buffer[] = []
  #moves = 0
  #retries = 0

  constructor(place: string) {
    this.#place = place
  }

  async remove(parent: number, name: Buffer, depth = 0): Promise<void> {
    for (;;) {
      try {
        return await this.#removeAsItIs(parent, name, depth)
      } catch (error) {
        if (codeOf(error) === 'ENOENT') return
        if (!CHANGED.has(codeOf(error) ?? '') || ++this.#retries > MOST_RETRIES) throw this.#explained(error)
      }
    }
  }

  async #removeAsItIs(parent: number, name: Buffer, depth: number): Promise<void> {
    const entry = entryOf(parent, name)
    if (await this.#unlink(entry)) return
    using folder = await this.#enter(parent, name)
    if (depth === 0) this.#top = folder
    await this.#clear(folder, depth)
    await rmdir(entry)
  }

  async #clear(folder: Opened, depth: number): Promise<void> {
    const names = await readdir(folder.path, { encoding: 'buffer' })
    const folders: Buffer[] = []
    for (let at = 0; at < names.length; at += AT_ONCE)
      await Promise.all(
        names.slice(at, at + AT_ONCE).map(async (name) => {
          if (!(await this.#unlink(entryOf(folder.descriptor, name)))) folders.push(name)
        }),
      )
    for (const name of folders)
      if (depth < DEEPEST) await this.remove(folder.descriptor, name, depth + 1)
      else await this.#moveToTop(folder, name)
    if (depth > 0) return
    for (let name = this.#moved.pop(); name; name = this.#moved.pop()) await this.remove(folder.descriptor, name, 1)
  }

  async #moveToTop(folder: Opened, name: Buffer): Promise<void> {
    // Its `..` changes, so it must be writable.
    ;(await this.#enter(folder.descriptor, name))[Symbol.dispose]()
    for (;;) {
      const moved = Buffer.from(`..removed-${++this.#moves}`)
      try {
        await rename(entryOf(folder.descriptor, name), entryOf(this.#top!.descriptor, moved))
        this.#moved.push(moved)
        return
      } catch (error) {
        // A file of that name is there already.
        if (!['ENOTEMPTY', 'EEXIST', 'ENOTDIR'].includes(codeOf(error) ?? '')) throw error
      }
    }
  }

  /** False if it is a folder. */
  async #unlink(entry: Buffer): Promise<boolean> {
    try {
      await unlink(entry)
      return true
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return true
      if (codeOf(error) === 'EISDIR') return false
      throw error
    }
  }

  async #enter(parent: number, name: Buffer): Promise<Opened> {
    const folder = await openBeneath(parent, name, { flags: O_FOLDER, refuseMounts: true })
    // Its owner may have forbidden it to everyone, which only root can ignore; if it is not ours, the next step fails.
    if (process.geteuid?.() !== 0) await chmod(folder.path, 0o700).catch(() => {})
    return folder
  }

  #explained(error: unknown): unknown {
    if (!['EXDEV', 'EBUSY'].includes(codeOf(error) ?? '')) return error
    return new Error(`${this.#place} was not removed: something is still mounted beneath it`, { cause: error })
  }
}

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code
