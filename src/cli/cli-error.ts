/** Something the user can act on: printed as sentences, without a stack. */
export class CliError extends Error {
  override readonly name = 'CliError'
  /** What to try, one line each. */
  readonly hints: readonly string[]
  readonly exitCode: number

  constructor(message: string, hints: readonly string[] = [], exitCode = 1) {
    super(message)
    this.hints = hints
    this.exitCode = exitCode
  }
}
