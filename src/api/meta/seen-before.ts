/** Tells of each item that it is asked for whether it was asked for before: finds repeated items in one pass. */
export function seenBefore<T>(): (item: T) => boolean {
  const seen = new Set<T>()
  return (item) => {
    const count = seen.size
    return seen.add(item).size === count
  }
}
