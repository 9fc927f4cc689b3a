import { createHash } from 'node:crypto'
import { chmodSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

/** What was not written again for so long is compiled once more. */
const OLD_MS = 30 * 24 * 3_600_000

/**
 * Code that V8 compiled, kept in a file for the next process. Half of a start would go into compiling otherwise. Node
 * keeps such a cache too, but for modules only from version 22 on.
 */
export class CompiledCode {
  readonly #folder: string
  readonly #file: string

  /** Of a program whose name changes with its text. Another Node, and one with other flags, compiles otherwise. */
  static of(program: string, environment: NodeJS.ProcessEnv = process.env): CompiledCode {
    const folder = join(environment.XDG_CACHE_HOME || join(environment.HOME || homedir(), '.cache'), 'sampan', 'code')
    const flags = [process.version, process.arch, ...process.execArgv, environment.NODE_OPTIONS ?? '']
    const hash = createHash('sha256').update(flags.join('\n')).digest('hex').slice(0, 12)
    return new CompiledCode(folder, `${program}-${hash}`)
  }

  private constructor(folder: string, name: string) {
    this.#folder = folder
    this.#file = join(folder, name)
  }

  /** Whoever can write this file decides what runs here: it has to be ours alone. */
  read(): Buffer | undefined {
    try {
      const { uid, mode } = statSync(this.#folder)
      if (uid !== process.getuid?.() || (mode & 0o022) !== 0) return undefined
      return readFileSync(this.#file)
    } catch {
      return undefined
    }
  }

  /** Without it the next start is slower, and that is all. */
  write(code: Buffer): void {
    try {
      mkdirSync(this.#folder, { recursive: true })
      chmodSync(this.#folder, 0o700)
      const draft = `${this.#file}.${process.pid}`
      // V8 trusts what it reads: after a loss of power this file is whole or not there.
      writeFileSync(draft, code, { mode: 0o600, flush: true })
      this.#removeOld(statSync(draft).mtimeMs)
      renameSync(draft, this.#file)
    } catch {
      // A folder that cannot be written.
    }
  }

  /** Versions of the program come and go. */
  #removeOld(now: number): void {
    for (const name of readdirSync(this.#folder)) {
      const file = join(this.#folder, name)
      if (now - statSync(file).mtimeMs > OLD_MS) rmSync(file)
    }
  }
}
