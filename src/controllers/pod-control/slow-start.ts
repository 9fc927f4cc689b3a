export interface BatchResult {
  readonly successes: number
  /** The first failure, if any. */
  readonly error: unknown
}

/**
 * Calls `act` `count` times in batches that double: 1, 2, 4, ... A batch with a failure is the last one, so that what
 * cannot work (no quota left) costs few calls instead of all.
 */
export async function slowStart(count: number, act: (index: number) => Promise<unknown>): Promise<BatchResult> {
  let done = 0
  let successes = 0
  for (let size = 1; done < count; size *= 2) {
    const batch = Array.from({ length: Math.min(size, count - done) }, (_, index) => act(done + index))
    const results = await Promise.allSettled(batch)
    done += results.length
    const failure = results.find((result) => result.status === 'rejected')
    successes += results.filter((result) => result.status === 'fulfilled').length
    if (failure) return { successes, error: failure.reason }
  }
  return { successes, error: undefined }
}

/** All at once; throws the first failure after all have ended. */
export async function allOrFirstError(actions: readonly Promise<unknown>[]): Promise<void> {
  const results = await Promise.allSettled(actions)
  for (const result of results) if (result.status === 'rejected') throw result.reason
}
