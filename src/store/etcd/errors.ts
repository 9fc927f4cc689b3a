import { UnavailableError } from '../store.ts'

const details = (error: unknown): string => String((error as { details?: unknown }).details ?? '')

export const isCompacted = (error: unknown): boolean => details(error).includes('revision has been compacted')
export const isFuture = (error: unknown): boolean => details(error).includes('is a future revision')

/** Whatever else etcd answers means that it did not do its work: no quorum, no space, no permission. */
export function asStoreError(error: unknown): Error {
  if (error instanceof UnavailableError) return error
  if (details(error) === '')
    return new UnavailableError(`etcd cannot be asked: ${(error as Error).message}`, { cause: error })
  return new UnavailableError(`etcd refused: ${details(error)}`, { cause: error })
}
