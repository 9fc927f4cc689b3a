const MAX_TEXT = 64

/**
 * The same function, with its last answers remembered: for pure functions of short texts that come again and again. What
 * it answers with is shared: never change it.
 */
export function memoized<T>(compute: (text: string) => T, capacity = 4096): (text: string) => T {
  const known = new Map<string, T>()
  return (text) => {
    if (text.length > MAX_TEXT) return compute(text)
    const before = known.get(text)
    if (before !== undefined) return before
    const answer = compute(text)
    // All at once: no order to keep, and texts that still come are soon known again.
    if (known.size >= capacity) known.clear()
    known.set(text, answer)
    return answer
  }
}
