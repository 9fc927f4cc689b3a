import {
  type Attributes,
  attributesOf,
  be16In,
  be32In,
  be64In,
  eachAttribute,
  nested,
  textIn,
} from '../netlink/reader.ts'
import {
  COMPARISONS,
  CT_KEYS,
  LIMIT_UNITS,
  META_KEYS,
  type NftExpression,
  type NftFamily,
  PAYLOAD_BASES,
} from '../nft-expressions.ts'
import { FAMILY_NAMES, readData, readVerdict, registerOf, VERDICT_REGISTER } from './attributes.ts'
import {
  FIB_RESULT_ADDRTYPE,
  FIB_SOURCE,
  LIMIT_OVER,
  LOOKUP_INVERTED,
  NAT_RANGE_FULLY_RANDOM,
  NUMBER_MODES,
  REJECT_CODES,
  REJECT_TCP_RESET,
  REJECT_TYPES,
  SET_UPDATES,
} from './expression-writer.ts'

type Decoder = (attributes: Attributes, family: NftFamily) => NftExpression | undefined

const keyOf = <K extends string>(table: Readonly<Record<K, number>>, value: number | undefined): K | undefined =>
  (Object.keys(table) as K[]).find((key) => table[key] === value)

const register = (attributes: Attributes, type: number) => registerOf(be32In(attributes, type) ?? 0)

/** Those of which something is not known are `unknown`, so that a rule never seems to be ours when it is not. */
const DECODERS: Readonly<Record<string, Decoder>> = {
  payload: (a) => {
    const base = keyOf(PAYLOAD_BASES, be32In(a, 2))
    if (!base || !a.has(1)) return undefined
    return { expr: 'payload', base, offset: be32In(a, 3) ?? 0, length: be32In(a, 4) ?? 0, to: register(a, 1) }
  },
  meta: (a) => {
    const key = keyOf(META_KEYS, be32In(a, 2))
    if (!key) return undefined
    return a.has(3) ? { expr: 'meta-set', key, from: register(a, 3) } : { expr: 'meta', key, to: register(a, 1) }
  },
  ct: (a) => {
    const key = keyOf(CT_KEYS, be32In(a, 2))
    if (a.has(4)) return key === 'mark' || key === 'zone' ? { expr: 'ct-set', key, from: register(a, 4) } : undefined
    return key && { expr: 'ct', key, to: register(a, 1), ...(a.has(3) && { reply: a.get(3)![0] === 1 }) }
  },
  fib: (a) => {
    if (be32In(a, 2) !== FIB_RESULT_ADDRTYPE) return undefined
    return { expr: 'fib-type', of: be32In(a, 3) === FIB_SOURCE ? 'source' : 'destination', to: register(a, 1) }
  },
  cmp: (a) => {
    const op = keyOf(COMPARISONS, be32In(a, 2))
    const value = readData(a.get(3))
    return op && value && { expr: 'compare', from: register(a, 1), op, value }
  },
  bitwise: (a) => {
    const mask = readData(a.get(4))
    const xor = readData(a.get(5))
    return mask && xor && { expr: 'bitwise', from: register(a, 1), to: register(a, 2), mask, xor }
  },
  immediate: (a) => {
    const verdict = readVerdict(a.get(2))
    if (verdict) return { expr: 'verdict', ...verdict }
    const value = readData(a.get(2))
    return value && { expr: 'immediate', to: register(a, 1), value }
  },
  lookup: (a) => {
    const set = textIn(a, 1) ?? ''
    const from = register(a, 2)
    if (be32In(a, 3) === VERDICT_REGISTER) return { expr: 'verdict-map', set, from }
    if (a.has(3)) return { expr: 'map', set, from, to: register(a, 3) }
    return { expr: 'lookup', set, from, ...(be32In(a, 5) === LOOKUP_INVERTED && { inverted: true }) }
  },
  numgen: (a) => {
    const mode = keyOf(NUMBER_MODES, be32In(a, 3))
    const offset = be32In(a, 4)
    return mode && { expr: 'number', mode, modulus: be32In(a, 2) ?? 0, ...(offset && { offset }), to: register(a, 1) }
  },
  hash: (a) => {
    if (!a.has(1)) return undefined
    const seed = be32In(a, 5)
    const modulus = be32In(a, 4) ?? 0
    const length = be32In(a, 3) ?? 0
    return {
      expr: 'hash',
      from: register(a, 1),
      length,
      modulus,
      ...(seed !== undefined && { seed }),
      to: register(a, 2),
    }
  },
  nat: (a) => {
    const family = FAMILY_NAMES.get(be32In(a, 2) ?? 0)
    if (!a.has(3) || !family || family === 'inet') return undefined
    const type = be32In(a, 1) === 0 ? 'source' : 'destination'
    return { expr: 'nat', type, family, address: register(a, 3), ...(a.has(5) && { port: register(a, 5) }) }
  },
  masq: (a) => ({ expr: 'masquerade', ...(be32In(a, 1) === NAT_RANGE_FULLY_RANDOM && { fullyRandom: true }) }),
  redir: (a) => ({ expr: 'redirect', ...(a.has(1) && { port: register(a, 1) }) }),
  reject: (a, family) => {
    const type = be32In(a, 1)
    if (type === REJECT_TCP_RESET) return { expr: 'reject', reason: 'tcp-reset' }
    const reason = type === REJECT_TYPES[family] ? keyOf(REJECT_CODES[family], a.get(2)?.[0]) : undefined
    return reason && { expr: 'reject', reason }
  },
  counter: (a) => ({ expr: 'counter', packets: Number(be64In(a, 2) ?? 0n), bytes: Number(be64In(a, 1) ?? 0n) }),
  dynset: (a) => {
    const op = keyOf(SET_UPDATES, be32In(a, 3))
    const timeoutMs = Number(be64In(a, 6) ?? 0n)
    const data = a.has(5) && { data: register(a, 5) }
    return (
      op && {
        expr: 'set-update',
        op,
        set: textIn(a, 1) ?? '',
        key: register(a, 4),
        ...data,
        ...(timeoutMs && { timeoutMs }),
      }
    )
  },
  limit: (a) => {
    const per = keyOf(LIMIT_UNITS, Number(be64In(a, 2) ?? 0n))
    if (!per || be32In(a, 4)) return undefined
    const over = be32In(a, 5) === LIMIT_OVER
    return { expr: 'limit', rate: Number(be64In(a, 1) ?? 0n), per, burst: be32In(a, 3) ?? 0, ...(over && { over }) }
  },
  log: (a) => {
    const prefix = textIn(a, 2)
    const group = be16In(a, 1)
    return { expr: 'log', ...(prefix !== undefined && { prefix }), ...(group !== undefined && { group }) }
  },
  notrack: () => ({ expr: 'notrack' }),
}

export function readExpressions(list: Buffer | undefined, family: NftFamily): NftExpression[] {
  const expressions: NftExpression[] = []
  if (!list) return expressions
  eachAttribute(list, 0, (_, element) => {
    const attributes = attributesOf(element)
    const name = textIn(attributes, 1) ?? ''
    expressions.push(DECODERS[name]?.(nested(attributes, 2), family) ?? { expr: 'unknown', name })
  })
  return expressions
}
