/** The numbers of DNS that are used here (RFC 1035 and its successors). */
export const TYPES = {
  A: 1,
  NS: 2,
  CNAME: 5,
  SOA: 6,
  PTR: 12,
  MX: 15,
  TXT: 16,
  AAAA: 28,
  SRV: 33,
  OPT: 41,
  HTTPS: 65,
  AXFR: 252,
  ANY: 255,
} as const

export const CLASS_IN = 1
export const CLASS_CHAOS = 3

export const RCODES = {
  NOERROR: 0,
  FORMERR: 1,
  SERVFAIL: 2,
  NXDOMAIN: 3,
  NOTIMP: 4,
  REFUSED: 5,
  BADVERS: 16,
} as const

const TYPE_NAMES = new Map<number, string>(Object.entries(TYPES).map(([name, number]) => [number, name]))
const RCODE_NAMES = new Map<number, string>(Object.entries(RCODES).map(([name, number]) => [number, name]))

/** `A`, or `TYPE64` as RFC 3597 writes what has no name. */
export const typeName = (type: number) => TYPE_NAMES.get(type) ?? `TYPE${type}`
export const rcodeName = (rcode: number) => RCODE_NAMES.get(rcode) ?? `RCODE${rcode}`

/** The number of `A` or of `TYPE64`; undefined for anything else. */
export function typeNumber(name: string): number | undefined {
  const known = (TYPES as Record<string, number>)[name.toUpperCase()]
  if (known !== undefined) return known
  const number = /^TYPE(\d{1,5})$/i.exec(name)?.[1]
  return number === undefined || Number(number) > 0xffff ? undefined : Number(number)
}
