import { takeTurn } from '../../base/take-turn.ts'

/** A step of a request with so much in it takes about five milliseconds. */
const LARGE_BYTES = 64 * 1024

/** Between two steps of a request with a large object others get a turn. Small ones go on at once: undefined. */
export const betweenSteps = (bytes: number | undefined): Promise<void> | undefined =>
  bytes !== undefined && bytes > LARGE_BYTES ? takeTurn() : undefined
