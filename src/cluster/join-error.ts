/** Why a machine could not join, and what to do about it. */
export class JoinError extends Error {
  override readonly name = 'JoinError'
  /** One line each. */
  readonly hints: readonly string[]

  constructor(message: string, hints: readonly string[] = [], cause?: unknown) {
    super(message, { cause })
    this.hints = hints
  }
}

export const NEW_TOKEN_HINT = 'Make another on the first machine: sampan token create --print-join-command'
