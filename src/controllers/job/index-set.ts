/** A set of completion indexes as ordered intervals, the form in which a Job's status tells them: `1,3-5,7`. */
export class IndexSet {
  readonly #intervals: readonly (readonly [first: number, last: number])[]

  private constructor(intervals: readonly (readonly [number, number])[]) {
    this.#intervals = intervals
  }

  static readonly empty = new IndexSet([])

  static of(indexes: Iterable<number>): IndexSet {
    return joined([...indexes].map((index) => [index, index] as const))
  }

  /** Reads a text; indexes from `limit` on are left out: the job may have shrunk since. Nonsense is skipped. */
  static parse(text: string | undefined, limit: number): IndexSet {
    const intervals: [number, number][] = []
    for (const part of (text ?? '').split(',')) {
      const match = /^(\d+)(?:-(\d+))?$/.exec(part)
      if (!match) continue
      const first = Number(match[1])
      const last = Math.min(Number(match[2] ?? first), limit - 1)
      if (first <= last) intervals.push([first, last])
    }
    return joined(intervals)
  }

  static fromIntervals(intervals: readonly (readonly [number, number])[]): IndexSet {
    return new IndexSet(intervals)
  }

  get intervals(): readonly (readonly [first: number, last: number])[] {
    return this.#intervals
  }

  get size(): number {
    return this.#intervals.reduce((sum, [first, last]) => sum + last - first + 1, 0)
  }

  has(index: number): boolean {
    return this.#intervals.some(([first, last]) => first <= index && index <= last)
  }

  union(other: IndexSet): IndexSet {
    return joined([...this.#intervals, ...other.#intervals])
  }

  /** How many indexes are in both. */
  overlap(other: IndexSet): number {
    let count = 0
    for (const [first, last] of this.#intervals)
      for (const [start, end] of other.#intervals)
        count += Math.max(0, Math.min(last, end) - Math.max(first, start) + 1)
    return count
  }

  /** The first `count` numbers below `limit` that are not in the set. */
  missing(count: number, limit: number): number[] {
    const result: number[] = []
    let candidate = 0
    for (const [first, last] of [...this.#intervals, [limit, limit] as const]) {
      for (; candidate < Math.min(first, limit) && result.length < count; candidate++) result.push(candidate)
      candidate = Math.max(candidate, last + 1)
    }
    return result
  }

  toString(): string {
    return this.#intervals
      .map(([first, last]) =>
        last === first ? `${first}` : last === first + 1 ? `${first},${last}` : `${first}-${last}`,
      )
      .join(',')
  }
}

function joined(intervals: readonly (readonly [number, number])[]): IndexSet {
  const result: [number, number][] = []
  for (const [first, last] of [...intervals].sort((a, b) => a[0] - b[0])) {
    const previous = result.at(-1)
    if (previous && first <= previous[1] + 1) previous[1] = Math.max(previous[1], last)
    else result.push([first, last])
  }
  return IndexSet.fromIntervals(result)
}
