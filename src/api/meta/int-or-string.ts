/** A count, or a percentage of something: `3` or `"25%"`. */
export type IntOrString = number | string

/** 25 for `"25%"`; undefined if this is not a percentage. */
export function parsePercent(value: IntOrString): number | undefined {
  if (typeof value !== 'string' || !/^[+-]?\d{1,15}%$/.test(value)) return undefined
  return Number(value.slice(0, -1))
}

/**
 * The count that `value` stands for, of `total`: an integer is itself, a percentage is scaled and rounded.
 * Undefined if a string is no percentage.
 */
export function scaledValue(value: IntOrString, total: number, rounding: 'up' | 'down'): number | undefined {
  if (typeof value === 'number') return value
  const percent = parsePercent(value)
  if (percent === undefined) return undefined
  const exact = (percent * total) / 100
  return rounding === 'up' ? Math.ceil(exact) : Math.floor(exact)
}
