/** What is wrong with a Corefile, and where. */
export class CorefileError extends Error {
  readonly line: number

  constructor(line: number, problem: string) {
    super(`Corefile:${line} - Error during parsing: ${problem}`)
    this.name = 'CorefileError'
    this.line = line
  }
}
