const UNITS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
}
const WHOLE = /^(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|ms|s|m|h|d)(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|ms|s|m|h|d))*$/
const PART = /(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h|d)/g

/** Longer texts are only sent to keep the reader busy. */
const MAX_LENGTH = 1024

/** Milliseconds of a duration as Go writes it, with days: `300ms`, `1h30m`, `2d`, `0`. */
export function parseDuration(text: string): number | undefined {
  if (text === '0') return 0
  if (text.length > MAX_LENGTH || !WHOLE.test(text)) return undefined
  let total = 0
  for (const [, amount, unit] of text.matchAll(PART)) total += Number(amount) * UNITS[unit!]!
  return total
}
