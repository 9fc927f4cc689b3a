import type { ServiceError } from '@grpc/grpc-js'
import { RuntimeError, type RuntimeErrorCode } from '../runtime.ts'

/** gRPC's numbers. */
const CODES: Readonly<Record<number, RuntimeErrorCode>> = {
  1: 'Unavailable',
  3: 'InvalidArgument',
  4: 'DeadlineExceeded',
  5: 'NotFound',
  6: 'AlreadyExists',
  9: 'FailedPrecondition',
  12: 'Unimplemented',
  14: 'Unavailable',
}

/** containerd says much of this with the code `unknown`. */
const BY_WORDS: readonly (readonly [RegExp, RuntimeErrorCode])[] = [
  [/is in CONTAINER_\w+ state|already in running state|is not running|is not created/, 'FailedPrecondition'],
  [/not found|does not exist/, 'NotFound'],
]

/** The other side's words, with the code that our callers know. */
export function runtimeError(error: ServiceError): RuntimeError {
  const message = error.details || error.message
  const code = CODES[error.code] ?? BY_WORDS.find(([words]) => words.test(message))?.[1] ?? 'Internal'
  return new RuntimeError(code, message, { cause: error })
}

export const isMissing = (error: unknown) => error instanceof RuntimeError && error.code === 'NotFound'
export const isUnimplemented = (error: unknown) => error instanceof RuntimeError && error.code === 'Unimplemented'

/** Undefined for what is gone. */
export function unlessMissing(error: unknown): undefined {
  if (isMissing(error)) return undefined
  throw error
}
