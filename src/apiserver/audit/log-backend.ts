import { closeSync, mkdirSync, openSync, readdirSync, renameSync, rmSync, statSync, writeSync } from 'node:fs'
import { basename, dirname, extname, join } from 'node:path'
import { formatMicroTime } from '../../api/meta/time.ts'
import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import type { AuditBackend } from './event.ts'

export interface AuditLogOptions {
  /** A file, or `-` for standard output. */
  readonly path: string
  /** A file that has grown to this many bytes is put aside; 100 MiB unless told. */
  readonly maxBytes?: number
  /** How many files that were put aside are kept; 10 unless told. */
  readonly maxBackups?: number
  /** Files that were put aside longer ago are removed when the next one is; 30 unless told. */
  readonly maxDays?: number
}

const MAX_BYTES = 100 * 1024 * 1024
const MAX_BACKUPS = 10
const MAX_DAYS = 30
const DAY = 86_400_000

export const auditLogLimits = ({
  maxBytes = MAX_BYTES,
  maxBackups = MAX_BACKUPS,
  maxDays = MAX_DAYS,
}: AuditLogOptions) => ({ maxBytes, maxBackups, maxDays })

const STANDARD_OUTPUT = 1

/** Appends events to a file, a line each. Lines of one turn of the event loop are written together. */
export class LogBackend implements AuditBackend {
  readonly #path: string
  readonly #limits: ReturnType<typeof auditLogLimits>
  readonly #clock: Clock
  readonly #log: Logger
  #file: number
  #size = 0
  #pending: string[] = []
  /** The last file that was put aside: a number is never given twice in a moment, also when its file is gone. */
  #asideTime = ''
  #asideCount = 0

  /** Throws if the file cannot be opened: nobody shall believe in a log that is not written. */
  constructor(options: AuditLogOptions, clock: Clock, log: Logger) {
    const { path } = options
    this.#path = path
    this.#limits = auditLogLimits(options)
    this.#clock = clock
    this.#log = log
    this.#file = path === '-' ? STANDARD_OUTPUT : this.#open()
  }

  write(line: string): void {
    if (this.#pending.push(line) === 1) setImmediate(() => this.#flush())
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#flush()
    if (this.#path !== '-') closeSync(this.#file)
    this.#file = -1
  }

  #open(): number {
    mkdirSync(dirname(this.#path), { recursive: true })
    const file = openSync(this.#path, 'a', 0o600)
    this.#size = statSync(this.#path).size
    return file
  }

  #flush(): void {
    if (this.#pending.length === 0 || this.#file < 0) return
    const bytes = Buffer.from(`${this.#pending.join('\n')}\n`)
    this.#pending = []
    try {
      if (this.#path !== '-' && this.#size > 0 && this.#size + bytes.length > this.#limits.maxBytes) this.#rotate()
      for (let at = 0; at < bytes.length; ) at += writeSync(this.#file, bytes, at)
      this.#size += bytes.length
    } catch (error) {
      this.#log.error('audit events were lost: the log cannot be written', { path: this.#path, error: String(error) })
    }
  }

  #rotate(): void {
    closeSync(this.#file)
    const extension = extname(this.#path)
    const stem = join(dirname(this.#path), basename(this.#path, extension))
    const time = formatFileTime(this.#clock.now())
    // By name they are in the order of their time, also within a moment.
    let n = time === this.#asideTime ? this.#asideCount + 1 : 0
    const nameOf = () => `${stem}-${time}-${String(n).padStart(4, '0')}${extension}`
    while (exists(nameOf())) n++
    const aside = nameOf()
    this.#asideTime = time
    this.#asideCount = n
    renameSync(this.#path, aside)
    this.#file = this.#open()
    this.#removeOld(`${basename(stem)}-`, extension)
  }

  /** The names of files that were put aside are in the order of their times. */
  #removeOld(start: string, extension: string): void {
    const { maxBackups, maxDays } = this.#limits
    const tooOld = `${start}${formatFileTime(this.#clock.now() - maxDays * DAY)}`
    const aside = readdirSync(dirname(this.#path))
      .filter((name) => name.startsWith(start) && name.endsWith(extension))
      .sort()
    for (const [index, name] of aside.entries())
      if (index < aside.length - maxBackups || name < tooOld) rmSync(join(dirname(this.#path), name), { force: true })
  }
}

const exists = (path: string) => statSync(path, { throwIfNoEntry: false }) !== undefined

/** 2026-01-31T12-00-00.000, without what file names do not like. */
const formatFileTime = (now: number) => formatMicroTime(now).replaceAll(':', '-').replace('Z', '')
