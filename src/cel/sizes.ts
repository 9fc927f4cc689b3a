/** More than any size: nothing is known of it. Arithmetic stops there. */
export const UNKNOWN = 2 ** 64

/** How many elements, entries or characters values can have at most, and what is within them. */
export interface Sized {
  readonly max: number
  /** Of the items of a list, or the values of a map. */
  readonly items?: Sized
  readonly keys?: Sized
  field?(name: string): Sized | undefined
}

/**
 * A way from the declared variable to a value. Undefined for values that an expression makes: what is below those is
 * taken for the variable itself, as Kubernetes does.
 */
export type Place = { readonly declared: Sized | undefined } | undefined

/** What is known of a part of an expression before it runs. */
export interface Estimate {
  /** Of the most expensive run. */
  readonly cost: number
  /** Undefined where nothing is known. */
  readonly size?: number | undefined
  /** The smallest size it can have; 0 when absent. */
  readonly least?: number
  /** Of the elements of a list or map that the expression makes. */
  readonly entry?: EntrySize | undefined
  readonly place?: Place
}

export interface EntrySize {
  readonly container: 'list' | 'map'
  readonly key: number
  readonly value: number
}

export const sizeOf = ({ size }: Estimate): number => size ?? UNKNOWN
export const times = (a: number, b: number): number => Math.min(UNKNOWN, a * b)
export const plus = (...all: number[]): number =>
  Math.min(
    UNKNOWN,
    all.reduce((sum, one) => sum + one, 0),
  )

/** A walk over text takes a tenth of a unit per character. */
const TRAVERSAL = 0.1
/** Parts of a regular expression are taken to have four characters. */
const REGEX = 0.25

export const scaled = (size: number, factor: number): number => Math.min(UNKNOWN, Math.ceil(size * factor))
export const traversal = (size: number, walks = 1): number => scaled(size, walks * TRAVERSAL)
export const regexCost = (text: number, pattern: number): number =>
  times(traversal(plus(text, 1)), scaled(pattern, REGEX))

export function union(a: EntrySize | undefined, b: EntrySize | undefined): EntrySize | undefined {
  if (!a || !b) return undefined
  return { container: a.container, key: Math.max(a.key, b.key), value: Math.max(a.value, b.value) }
}
