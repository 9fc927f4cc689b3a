import type { NetlinkWriter } from '../netlink/writer.ts'
import {
  COMPARISONS,
  CT_KEYS,
  LIMIT_UNITS,
  META_KEYS,
  type NftExpression,
  type NftFamily,
  PAYLOAD_BASES,
} from '../nft-expressions.ts'
import { FAMILIES, LIST_ELEMENT, registerNumber, VERDICT_REGISTER, writeData, writeVerdict } from './attributes.ts'

const EXPR_NAME = 1
const EXPR_DATA = 2
export const NAT_RANGE_FULLY_RANDOM = 16
export const FIB_SOURCE = 1
export const FIB_DESTINATION = 2
export const FIB_RESULT_ADDRTYPE = 3
export const LOOKUP_INVERTED = 1
export const LIMIT_OVER = 1
export const SET_UPDATES = { add: 0, update: 1, delete: 2 } as const
export const NUMBER_MODES = { incremental: 0, random: 1 } as const
/**
 * In tables of one family the codes are those of ICMP or ICMPv6; only `inet` has codes for both. A table of one family
 * takes the others too, and then drops in silence.
 */
export const REJECT_CODES = {
  ip: { 'no-route': 0, 'port-unreachable': 3, 'host-unreachable': 1, 'admin-prohibited': 13 },
  ip6: { 'no-route': 0, 'port-unreachable': 4, 'host-unreachable': 3, 'admin-prohibited': 1 },
  inet: { 'no-route': 0, 'port-unreachable': 1, 'host-unreachable': 2, 'admin-prohibited': 3 },
} as const
export const REJECT_TYPES = { ip: 0, ip6: 0, inet: 2 } as const
export const REJECT_TCP_RESET = 1

type Expression<E extends NftExpression['expr']> = Extract<NftExpression, { readonly expr: E }>

interface Encoder<E extends NftExpression['expr']> {
  readonly name: string
  write(to: NetlinkWriter, expression: Expression<E>, family: NftFamily): void
}

/** How each expression is called in the kernel, and its attributes. */
const ENCODERS: { readonly [E in NftExpression['expr']]: Encoder<E> } = {
  payload: {
    name: 'payload',
    write: (to, { base, offset, length, to: register }) =>
      to
        .attributeBe32(1, registerNumber(register))
        .attributeBe32(2, PAYLOAD_BASES[base])
        .attributeBe32(3, offset)
        .attributeBe32(4, length),
  },
  meta: {
    name: 'meta',
    write: (to, e) => to.attributeBe32(2, META_KEYS[e.key]).attributeBe32(1, registerNumber(e.to)),
  },
  'meta-set': {
    name: 'meta',
    write: (to, e) => to.attributeBe32(2, META_KEYS[e.key]).attributeBe32(3, registerNumber(e.from)),
  },
  ct: {
    name: 'ct',
    write: (to, e) => {
      to.attributeBe32(2, CT_KEYS[e.key]).attributeBe32(1, registerNumber(e.to))
      if (e.reply !== undefined) to.attributeU8(3, e.reply ? 1 : 0)
    },
  },
  'ct-set': {
    name: 'ct',
    write: (to, e) => to.attributeBe32(2, CT_KEYS[e.key]).attributeBe32(4, registerNumber(e.from)),
  },
  'fib-type': {
    name: 'fib',
    write: (to, e) =>
      to
        .attributeBe32(1, registerNumber(e.to))
        .attributeBe32(2, FIB_RESULT_ADDRTYPE)
        .attributeBe32(3, e.of === 'source' ? FIB_SOURCE : FIB_DESTINATION),
  },
  compare: {
    name: 'cmp',
    write: (to, e) => {
      to.attributeBe32(1, registerNumber(e.from)).attributeBe32(2, COMPARISONS[e.op])
      writeData(to, 3, e.value)
    },
  },
  bitwise: {
    name: 'bitwise',
    write: (to, e) => {
      to.attributeBe32(1, registerNumber(e.from)).attributeBe32(2, registerNumber(e.to))
      to.attributeBe32(3, e.mask.length)
      writeData(to, 4, e.mask)
      writeData(to, 5, e.xor)
    },
  },
  immediate: {
    name: 'immediate',
    write: (to, e) => {
      to.attributeBe32(1, registerNumber(e.to))
      writeData(to, 2, e.value)
    },
  },
  verdict: {
    name: 'immediate',
    write: (to, e) => {
      to.attributeBe32(1, VERDICT_REGISTER)
      writeVerdict(to, 2, e)
    },
  },
  lookup: {
    name: 'lookup',
    write: (to, e) => {
      to.attributeString(1, e.set).attributeBe32(2, registerNumber(e.from))
      if (e.inverted) to.attributeBe32(5, LOOKUP_INVERTED)
    },
  },
  map: {
    name: 'lookup',
    write: (to, e) =>
      to.attributeString(1, e.set).attributeBe32(2, registerNumber(e.from)).attributeBe32(3, registerNumber(e.to)),
  },
  'verdict-map': {
    name: 'lookup',
    write: (to, e) =>
      to.attributeString(1, e.set).attributeBe32(2, registerNumber(e.from)).attributeBe32(3, VERDICT_REGISTER),
  },
  number: {
    name: 'numgen',
    write: (to, e) =>
      to
        .attributeBe32(1, registerNumber(e.to))
        .attributeBe32(2, e.modulus)
        .attributeBe32(3, NUMBER_MODES[e.mode])
        .attributeBe32(4, e.offset ?? 0),
  },
  hash: {
    name: 'hash',
    write: (to, e) => {
      to.attributeBe32(1, registerNumber(e.from)).attributeBe32(2, registerNumber(e.to))
      to.attributeBe32(3, e.length).attributeBe32(4, e.modulus)
      if (e.seed !== undefined) to.attributeBe32(5, e.seed)
    },
  },
  nat: {
    name: 'nat',
    write: (to, e) => {
      to.attributeBe32(1, e.type === 'source' ? 0 : 1).attributeBe32(2, FAMILIES[e.family])
      to.attributeBe32(3, registerNumber(e.address))
      if (e.port !== undefined) to.attributeBe32(5, registerNumber(e.port))
    },
  },
  masquerade: {
    name: 'masq',
    write: (to, e) => {
      if (e.fullyRandom) to.attributeBe32(1, NAT_RANGE_FULLY_RANDOM)
    },
  },
  redirect: {
    name: 'redir',
    write: (to, e) => {
      if (e.port !== undefined) to.attributeBe32(1, registerNumber(e.port))
    },
  },
  reject: {
    name: 'reject',
    write: (to, { reason }, family) => {
      if (reason === 'tcp-reset') to.attributeBe32(1, REJECT_TCP_RESET)
      else to.attributeBe32(1, REJECT_TYPES[family]).attributeU8(2, REJECT_CODES[family][reason])
    },
  },
  counter: {
    name: 'counter',
    write: (to, e) => to.attributeBe64(1, BigInt(e.bytes ?? 0)).attributeBe64(2, BigInt(e.packets ?? 0)),
  },
  'set-update': {
    name: 'dynset',
    write: (to, e) => {
      to.attributeString(1, e.set).attributeBe32(3, SET_UPDATES[e.op]).attributeBe32(4, registerNumber(e.key))
      if (e.data !== undefined) to.attributeBe32(5, registerNumber(e.data))
      if (e.timeoutMs) to.attributeBe64(6, BigInt(e.timeoutMs))
    },
  },
  limit: {
    name: 'limit',
    write: (to, e) => {
      to.attributeBe64(1, BigInt(e.rate)).attributeBe64(2, BigInt(LIMIT_UNITS[e.per])).attributeBe32(3, e.burst)
      to.attributeBe32(4, 0).attributeBe32(5, e.over ? LIMIT_OVER : 0)
    },
  },
  log: {
    name: 'log',
    write: (to, e) => {
      if (e.group !== undefined) to.attributeBe16(1, e.group)
      if (e.prefix !== undefined) to.attributeString(2, e.prefix)
    },
  },
  notrack: { name: 'notrack', write: () => {} },
  unknown: {
    name: 'unknown',
    write: (_, e) => {
      throw new TypeError(`the expression ${e.name} can be read but not written`)
    },
  },
}

export function writeExpressions(
  to: NetlinkWriter,
  attribute: number,
  expressions: readonly NftExpression[],
  family: NftFamily,
): void {
  const list = to.beginNest(attribute)
  for (const expression of expressions) {
    const encoder = ENCODERS[expression.expr] as Encoder<NftExpression['expr']>
    const element = to.beginNest(LIST_ELEMENT)
    to.attributeString(EXPR_NAME, encoder.name)
    const data = to.beginNest(EXPR_DATA)
    encoder.write(to, expression, family)
    to.endNest(data).endNest(element)
  }
  to.endNest(list)
}
