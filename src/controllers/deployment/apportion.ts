/** One part of a whole: its size, and the size of the whole when it got that size. */
export interface Portion {
  readonly size: number
  readonly whole: number
}

/**
 * Sizes of the portions in a new whole, in the order given. Each keeps its part of the whole, rounded to the nearest
 * number of pods. Rounding never moves more than is open, and what it leaves open goes to the first portion.
 */
export function apportion(portions: readonly Portion[], whole: number): number[] {
  if (whole === 0) return portions.map(() => 0)
  let open = portions.reduce((rest, { size }) => rest - size, whole)
  const sizes = portions.map((portion) => {
    const size = limited(proportional(portion, whole), portion.size, open)
    open -= size - portion.size
    return size
  })
  return sizes.map((size, rank) => (rank === 0 ? Math.max(0, size + open) : size))
}

/** Nothing is known of a portion of an empty whole: it stays as it is. */
const proportional = ({ size, whole: before }: Portion, whole: number) =>
  before === 0 ? size : Math.round((size * whole) / before)

/** The goal, or what is nearest to it when at most `open` pods are added or taken away. */
function limited(goal: number, size: number, open: number): number {
  if (open === 0) return size
  return open > 0 ? Math.min(goal, size + open) : Math.max(goal, size + open)
}
