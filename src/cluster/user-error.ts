export interface UserErrorOptions {
  /** 2 for wrong usage. */
  readonly exitCode?: number
  readonly cause?: unknown
}

/** A problem that the user can solve: printed as sentences, without a stack. */
export class UserError extends Error {
  override readonly name = 'UserError'
  /** What to try, one line each. */
  readonly hints: readonly string[]
  readonly exitCode: number

  constructor(message: string, hints: readonly string[] = [], { exitCode = 1, cause }: UserErrorOptions = {}) {
    super(message, { cause })
    this.hints = hints
    this.exitCode = exitCode
  }
}
