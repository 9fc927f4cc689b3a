/** One parser and what must hold for every input. A target is the export `target` of a file in `targets/`. */
export interface FuzzTarget {
  /**
   * Parses the input and throws if an invariant does not hold. Returns what the parser made of it: the same input must
   * give an equal value again, whatever was parsed in between.
   */
  run(input: Buffer): unknown
  /** Parts that mutations put into inputs: keywords, magic bytes. One character is one byte. */
  readonly dictionary?: readonly string[]
  /**
   * How many blocks of code an input may execute: `fixed` and `perByte` for each of its bytes. Work that is not linear
   * exceeds it.
   */
  readonly steps: { readonly fixed: number; readonly perByte: number }
  /** Largest input that is tried; 4096 if absent. */
  readonly maxBytes?: number
}

type ErrorType = abstract new (...args: never[]) => Error

export type Outcome<T> = { readonly value: T } | { readonly error: string }

/** Calls the parser. It may throw errors of these types and no others. */
export function attempt<T>(parse: () => T, ...documented: readonly ErrorType[]): Outcome<T> {
  try {
    return { value: parse() }
  } catch (error) {
    return { error: messageOf(error, documented) }
  }
}

export async function attemptAsync<T>(
  parse: () => Promise<T>,
  ...documented: readonly ErrorType[]
): Promise<Outcome<T>> {
  try {
    return { value: await parse() }
  } catch (error) {
    return { error: messageOf(error, documented) }
  }
}

function messageOf(error: unknown, documented: readonly ErrorType[]): string {
  if (documented.some((type) => error instanceof type)) return (error as Error).message
  throw error
}
