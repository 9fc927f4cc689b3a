const NEWLINE = 0x0a

/** Cuts a stream of chunks into lines, however the chunks were split; each byte is looked at once. */
export class LineSplitter {
  /** The beginning of a line whose end has not come yet. */
  #partial: Buffer[] = []

  /** The lines that `chunk` completes, without their newlines; empty lines are left out. */
  push(chunk: Buffer): string[] {
    const lines: string[] = []
    let start = 0
    for (;;) {
      const end = chunk.indexOf(NEWLINE, start)
      if (end < 0) break
      const line = this.#complete(chunk.subarray(start, end))
      if (line.length > 0) lines.push(line)
      start = end + 1
    }
    if (start < chunk.length) this.#partial.push(chunk.subarray(start))
    return lines
  }

  /** True if a line has begun and not ended. */
  get hasPartial(): boolean {
    return this.#partial.length > 0
  }

  #complete(end: Buffer): string {
    if (this.#partial.length === 0) return end.toString('utf8')
    this.#partial.push(end)
    const line = Buffer.concat(this.#partial).toString('utf8')
    this.#partial = []
    return line
  }
}
