/** What a check found. `unknown` is what could not be seen from here; evidence says what was seen. */
export interface Finding {
  readonly outcome: 'pass' | 'miss' | 'unknown' | 'not applicable'
  readonly evidence: string
}

/** One thing to check. It decides on facts alone, so that it can be tried with others. */
export interface Control<F> {
  readonly id: string
  readonly title: string
  /** Whether missing it is a failure; otherwise it is a warning. */
  readonly scored: boolean
  /** What to do about it: a flag or a command. */
  readonly remedy: string
  check(facts: F): Finding
}

export type Verdict = 'pass' | 'fail' | 'warn' | 'not applicable'
export const VERDICTS: readonly Verdict[] = ['pass', 'fail', 'warn', 'not applicable']

export interface Result {
  readonly id: string
  readonly title: string
  readonly scored: boolean
  readonly verdict: Verdict
  readonly evidence: string
  /** Where there is something to do. */
  readonly remedy?: string
}

export interface Report {
  readonly results: readonly Result[]
  readonly counts: Readonly<Record<Verdict, number>>
}

export const pass = (evidence: string): Finding => ({ outcome: 'pass', evidence })
export const miss = (evidence: string): Finding => ({ outcome: 'miss', evidence })
export const unknown = (evidence: string): Finding => ({ outcome: 'unknown', evidence })
export const notApplicable = (evidence: string): Finding => ({ outcome: 'not applicable', evidence })
export const passIf = (holds: boolean, evidence: string): Finding => (holds ? pass(evidence) : miss(evidence))

/** Runs all controls, in their order. */
export function examine<F>(controls: readonly Control<F>[], facts: F): Report {
  const results = controls.map((control) => resultOf(control, control.check(facts)))
  const countOf = (verdict: Verdict) => results.filter((result) => result.verdict === verdict).length
  return {
    results,
    counts: {
      pass: countOf('pass'),
      fail: countOf('fail'),
      warn: countOf('warn'),
      'not applicable': countOf('not applicable'),
    },
  }
}

function resultOf<F>({ id, title, scored, remedy }: Control<F>, { outcome, evidence }: Finding): Result {
  const verdict = verdictOf(outcome, scored)
  const isDone = verdict === 'pass' || verdict === 'not applicable'
  return { id, title, scored, verdict, evidence, ...(!isDone && { remedy }) }
}

function verdictOf(outcome: Finding['outcome'], scored: boolean): Verdict {
  if (outcome === 'miss') return scored ? 'fail' : 'warn'
  return outcome === 'unknown' ? 'warn' : outcome
}
