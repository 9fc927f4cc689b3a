import { constants } from 'node:os'

const NAMES = new Map(Object.entries(constants.errno).map(([name, number]) => [number, name]))
/** Errors of the kernel's network that no libc call of Node's own gives. */
const MORE: Record<number, string> = { 85: 'ERESTART', 95: 'EOPNOTSUPP', 524: 'ENOTSUPP' }

export const errnoName = (errno: number) => MORE[errno] ?? NAMES.get(errno) ?? `errno ${errno}`

/** What the kernel refused. `code` is the name of the errno, as in Node's own errors. */
export class LinuxError extends Error {
  override readonly name: string = 'LinuxError'
  readonly errno: number
  readonly code: string

  constructor(errno: number, what: string, detail?: string) {
    super(`${what}: ${errnoName(errno)}${detail ? `: ${detail}` : ''}`)
    this.errno = errno
    this.code = errnoName(errno)
  }
}

/** The result of a call of `LinuxCalls`, or its failure thrown. */
export function checked(result: number, what: string): number {
  if (result < 0) throw new LinuxError(-result, what)
  return result
}

export const hasCode = (error: unknown, ...codes: readonly string[]) =>
  error instanceof LinuxError && codes.includes(error.code)
