/** Indexes of a job as a text of numbers and intervals: `1,3-5,7`. */

/** How many there are, or what is wrong with the text. */
export function countIndexes(text: string, completions: number): number | string {
  if (text === '') return 0
  let last: number | undefined
  let total = 0
  for (const part of text.split(',')) {
    const interval = parseInterval(part, completions)
    if (typeof interval === 'string') return interval
    const [first, end] = interval
    if (last !== undefined && last >= first) return `non-increasing order, previous: ${last}, current: ${first}`
    total += end - first + 1
    last = end
  }
  return total
}

function parseInterval(text: string, completions: number): [first: number, last: number] | string {
  const limits = text.split('-')
  if (limits.length > 2)
    return `the fragment ${JSON.stringify(text)} violates the requirement that an index interval can have at most two parts separated by '-'`
  const numbers: number[] = []
  for (const limit of limits) {
    if (!/^[+-]?\d+$/.test(limit)) return `cannot convert string to integer for index: ${JSON.stringify(limit)}`
    if (Number(limit) >= completions) return `too large index: ${JSON.stringify(limit)}`
    numbers.push(Number(limit))
  }
  const [first, last = first] = numbers as [number, number?]
  if (limits.length === 2 && first >= last) return `non-increasing order, previous: ${first}, current: ${last}`
  return [first, last]
}
