import type { FuzzFailure } from './fuzzer.ts'
import type { FuzzTarget } from './target.ts'

const MOST_ATTEMPTS = 2000

/** A smaller input that fails with the same message, found by leaving out ever smaller parts. */
export async function minimized({ input, cause }: FuzzFailure, target: FuzzTarget): Promise<Buffer> {
  if (!(cause instanceof Error)) return input
  let smallest = input
  let attempts = 0
  for (let size = Math.ceil(input.length / 2); size >= 1 && attempts < MOST_ATTEMPTS; size = Math.floor(size / 2)) {
    for (let at = 0; at < smallest.length && attempts < MOST_ATTEMPTS; attempts++) {
      const shorter = Buffer.concat([smallest.subarray(0, at), smallest.subarray(at + size)])
      if ((await messageOf(target, shorter)) === cause.message) smallest = shorter
      else at += size
    }
  }
  return smallest
}

async function messageOf(target: FuzzTarget, input: Buffer): Promise<string | undefined> {
  try {
    await target.run(Buffer.from(input))
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : undefined
  }
}
