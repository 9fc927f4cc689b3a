import { RuntimeError, type RuntimeErrorCode } from '../runtime.ts'

/** An image that cannot be had, in the words the container's status has for it. */
export function imageError(code: RuntimeErrorCode, message: string, cause?: unknown): RuntimeError {
  return new RuntimeError(code, message, { reason: 'ErrImagePull', ...(cause !== undefined && { cause }) })
}

/** What an image's author did wrong. */
export const badImage = (message: string) => imageError('InvalidArgument', message)

/** The same error, told as a part of something larger. */
export function within(prefix: string, error: unknown): RuntimeError {
  if (error instanceof RuntimeError) return imageError(error.code, `${prefix}: ${error.message}`, error)
  return imageError('Internal', `${prefix}: ${(error as Error).message}`, error)
}
