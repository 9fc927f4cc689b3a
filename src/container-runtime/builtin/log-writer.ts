import { closeSync, constants, mkdirSync, openSync, writeSync } from 'node:fs'
import path from 'node:path'
import type { Clock } from '../../base/clock.ts'

/** A longer line is written in pieces, as every CRI runtime does. */
const MAX_PIECE = 16 * 1024
const NEWLINE = 10
const APPEND = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT

/**
 * A container's log in CRI's format: `time stream tag text`, tag `F` for the end of a line and `P` for a piece before it.
 * What was read is in the file when `write` returns: an unfinished line is a piece already, so that nothing is kept in
 * memory that a crash could lose.
 */
export class LogWriter {
  private readonly file: string
  private readonly clock: Clock
  private fd: number | undefined
  private lastMillisecond = 0
  private sequence = 0

  constructor(file: string, clock: Clock) {
    this.file = file
    this.clock = clock
  }

  write(stream: 'stdout' | 'stderr', chunk: Buffer): void {
    if (chunk.length === 0) return
    const pieces: Buffer[] = []
    for (let at = 0; at < chunk.length; ) {
      const newline = chunk.indexOf(NEWLINE, at)
      const end = newline < 0 ? chunk.length : newline
      const cut = Math.min(end, at + MAX_PIECE)
      const whole = newline >= 0 && cut === end
      pieces.push(Buffer.from(`${this.timestamp()} ${stream} ${whole ? 'F' : 'P'} `), chunk.subarray(at, cut), LINE_END)
      at = whole ? cut + 1 : cut
    }
    this.append(Buffer.concat(pieces))
  }

  /** Writes go to a file of the same name, made anew if it was renamed. */
  reopen(): void {
    this.close()
    this.open()
  }

  close(): void {
    if (this.fd !== undefined) closeSync(this.fd)
    this.fd = undefined
  }

  private open(): number {
    mkdirSync(path.dirname(this.file), { recursive: true })
    // A pod with a hostPath may have put a link there.
    this.fd = openSync(this.file, APPEND | constants.O_NOFOLLOW, 0o640)
    return this.fd
  }

  private append(bytes: Buffer): void {
    const fd = this.fd ?? this.open()
    for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at)
  }

  /** RFC 3339 with nanoseconds. The clock knows milliseconds; the digits below keep lines in order. */
  private timestamp(): string {
    const now = Math.floor(this.clock.now())
    this.sequence = now === this.lastMillisecond ? Math.min(this.sequence + 1, 999_999) : 0
    this.lastMillisecond = now
    return `${new Date(now).toISOString().slice(0, -1)}${String(this.sequence).padStart(6, '0')}Z`
  }
}

const LINE_END = Buffer.from('\n')
