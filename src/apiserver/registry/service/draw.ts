import type { Random } from '../../../base/random.ts'
import type { OffsetSet } from './offset-set.ts'

/**
 * A pool of consecutive numbers. Its lowest `reserved` ones are drawn only when all others are taken, which leaves
 * them to users who choose for themselves (KEP-3070, KEP-3668).
 */
export interface Band {
  readonly size: number
  readonly reserved: number
}

/** How much of a pool to reserve: a share of it, within bounds; nothing of a tiny one. */
export function reservedPart(size: number, rule: { share: number; least: number; most: number }): number {
  if (size <= rule.least) return 0
  return Math.min(Math.max(Math.floor(size / rule.share), rule.least), rule.most)
}

/** A free number that was not refused, at random. Those to avoid are drawn only where nothing else is left. */
export function drawOffset(
  band: Band,
  used: OffsetSet,
  refused: ReadonlySet<number>,
  avoid: (offset: number) => boolean,
  random: Random,
): number | undefined {
  const isRefused = (offset: number) => refused.has(offset)
  const isBad = (offset: number) => refused.has(offset) || avoid(offset)
  const ranges = [
    [band.reserved, band.size],
    [0, band.reserved],
  ] as const
  for (const test of [isBad, isRefused]) {
    for (const [from, to] of ranges) {
      const found = drawFrom(from, to, used, test, random)
      if (found !== undefined) return found
    }
  }
  return undefined
}

function drawFrom(
  from: number,
  to: number,
  used: OffsetSet,
  avoid: (offset: number) => boolean,
  random: Random,
): number | undefined {
  if (from >= to) return undefined
  const start = from + Math.floor(random.next() * (to - from))
  return firstFree(start, to, used, avoid) ?? firstFree(from, start, used, avoid)
}

function firstFree(from: number, to: number, used: OffsetSet, avoid: (offset: number) => boolean): number | undefined {
  let found = used.nextFree(from, to)
  while (found !== undefined && avoid(found)) found = used.nextFree(found + 1, to)
  return found
}

const REMEMBERED = 256

/**
 * What was drawn lately and may not be committed yet: another request that runs at the same time should draw
 * something else. Only a preference: nothing is lost if a request fails or was a dry run.
 */
export class RecentDraws {
  readonly #keys = new Set<string>()

  has(key: string): boolean {
    return this.#keys.has(key)
  }

  add(key: string): void {
    this.#keys.delete(key)
    this.#keys.add(key)
    if (this.#keys.size <= REMEMBERED) return
    for (const oldest of this.#keys) {
      this.#keys.delete(oldest)
      return
    }
  }
}
