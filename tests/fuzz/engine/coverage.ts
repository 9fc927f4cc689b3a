import { type Profiler, Session } from 'node:inspector'

export interface Executed {
  /** Whether code was executed that is not known yet. */
  readonly isNew: boolean
  /** How often blocks of code were executed, all together. */
  readonly steps: number
  /** From now on this code is known. */
  learn(): void
}

/** What V8 knows of the blocks of code that this thread executes, for scripts whose address `isMeasured` accepts. */
export class Coverage {
  readonly #session = new Session()
  readonly #isMeasured: (url: string) => boolean
  /** By script and function: one byte per character of its source, 1 where it was executed. */
  readonly #known = new Map<string, Uint8Array>()

  constructor(isMeasured: (url: string) => boolean) {
    this.#isMeasured = isMeasured
    this.#session.connect()
    this.#post('Profiler.enable')
    this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
  }

  /** Since the last call. */
  take(): Executed {
    const news: { readonly key: string; readonly executed: Uint8Array }[] = []
    let steps = 0
    for (const script of this.#post('Profiler.takePreciseCoverage').result) {
      if (!this.#isMeasured(script.url)) continue
      for (const { ranges } of script.functions) {
        for (const { count } of ranges) steps += count
        const key = `${script.scriptId}:${ranges[0]!.startOffset}`
        const executed = executedOf(ranges)
        if (this.#isNew(key, executed)) news.push({ key, executed })
      }
    }
    const learn = () => {
      for (const { key, executed } of news) this.#learn(key, executed)
    }
    return { isNew: news.length > 0, steps, learn }
  }

  #isNew(key: string, executed: Uint8Array): boolean {
    const known = this.#known.get(key)
    return known ? executed.some((one, at) => one > known[at]!) : executed.includes(1)
  }

  #learn(key: string, executed: Uint8Array): void {
    const known = this.#known.get(key) ?? new Uint8Array(executed.length)
    for (let at = 0; at < executed.length; at++) known[at]! |= executed[at]!
    this.#known.set(key, known)
  }

  /** Within one thread the inspector answers at once. */
  #post<M extends 'Profiler.enable' | 'Profiler.takePreciseCoverage'>(
    method: M,
  ): Profiler.TakePreciseCoverageReturnType {
    let answer: Profiler.TakePreciseCoverageReturnType | undefined
    this.#session.post(method, (error: Error | null, result?: unknown) => {
      if (error) throw error
      answer = result as Profiler.TakePreciseCoverageReturnType
    })
    return answer!
  }
}

/** Ranges come from the outside to the inside; one that is inside another says what holds there instead. */
function executedOf(ranges: readonly Profiler.CoverageRange[]): Uint8Array {
  const { startOffset: start, endOffset: end } = ranges[0]!
  const executed = new Uint8Array(end - start)
  for (const range of ranges) executed.fill(range.count > 0 ? 1 : 0, range.startOffset - start, range.endOffset - start)
  return executed
}
