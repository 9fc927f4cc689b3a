/** One line of a container's log file: `2026-01-01T00:00:00.000000000Z stdout F text`. */
export interface LogLine {
  readonly time: string
  readonly stream: 'stdout' | 'stderr'
  /** A piece of a line that was too long for one. */
  readonly isPartial: boolean
  readonly text: Buffer
}

const SPACE = 0x20

/** Undefined if the line, given without its newline, is not in CRI's format. */
export function parseLogLine(line: Buffer): LogLine | undefined {
  const first = line.indexOf(SPACE)
  const second = first < 0 ? -1 : line.indexOf(SPACE, first + 1)
  if (second < 0) return undefined
  const third = line.indexOf(SPACE, second + 1)
  const stream = line.toString('latin1', first + 1, second)
  if (stream !== 'stdout' && stream !== 'stderr') return undefined
  const tag = line.toString('latin1', second + 1, third < 0 ? line.length : third)
  const text = third < 0 ? Buffer.alloc(0) : line.subarray(third + 1)
  return { time: line.toString('latin1', 0, first), stream, isPartial: tag.startsWith('P'), text }
}
