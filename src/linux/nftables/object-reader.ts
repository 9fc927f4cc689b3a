import {
  type Attributes,
  attributesOf,
  be32In,
  be64In,
  eachAttribute,
  type NetlinkMessage,
  nested,
  textIn,
} from '../netlink/reader.ts'
import { NFT_TYPES, type NftType } from '../nft-values.ts'
import type { ListedRule, NftBaseChain, NftChain, NftElement, NftGeneration, NftSet, NftTable } from '../nftables.ts'
import { NFT_HOOKS } from '../nftables.ts'
import { commentOf, FAMILY_NAMES, readData, readVerdict } from './attributes.ts'
import { ELEMENT_COMMENT, INTERVAL_END } from './element-writer.ts'
import { readExpressions } from './expression-reader.ts'
import { RULE_COMMENT, SET_COMMENT, SET_FLAGS, VERDICT_TYPE } from './object-writer.ts'

const HEADER_BYTES = 4

export const objectAttributes = (message: NetlinkMessage) => attributesOf(message.data, HEADER_BYTES)

/** Undefined for families that are not ours to know (bridge, arp, netdev). */
export function readTable(message: NetlinkMessage): NftTable | undefined {
  const family = FAMILY_NAMES.get(message.data[0]!)
  return family && { family, name: textIn(objectAttributes(message), 1) ?? '' }
}

export function readChain(table: NftTable, message: NetlinkMessage): NftChain | undefined {
  const attributes = objectAttributes(message)
  if (textIn(attributes, 1) !== table.name) return undefined
  const base = attributes.has(4) && { base: readBase(attributes) }
  return { table, name: textIn(attributes, 3) ?? '', ...base }
}

function readBase(attributes: Attributes): NftBaseChain {
  const hook = nested(attributes, 4)
  const number = be32In(hook, 1)
  const hooks = Object.keys(NFT_HOOKS) as (keyof typeof NFT_HOOKS)[]
  return {
    type: textIn(attributes, 7) as NftBaseChain['type'],
    hook: hooks.find((name) => NFT_HOOKS[name] === number)!,
    priority: (be32In(hook, 2) ?? 0) | 0,
    policy: be32In(attributes, 5) === 0 ? 'drop' : 'accept',
  }
}

export function readRule(message: NetlinkMessage): ListedRule {
  const attributes = objectAttributes(message)
  const comment = commentOf(attributes.get(7), RULE_COMMENT)
  return {
    chain: textIn(attributes, 2) ?? '',
    handle: be64In(attributes, 3) ?? 0n,
    expressions: readExpressions(attributes.get(4), FAMILY_NAMES.get(message.data[0]!) ?? 'inet'),
    ...(comment !== undefined && { comment }),
  }
}

export function readSet(table: NftTable, message: NetlinkMessage): NftSet | undefined {
  const attributes = objectAttributes(message)
  if (textIn(attributes, 1) !== table.name) return undefined
  const flags = be32In(attributes, 3) ?? 0
  const timeoutMs = Number(be64In(attributes, 11) ?? 0n)
  const size = be32In(nested(attributes, 9), 1)
  const comment = commentOf(attributes.get(13), SET_COMMENT)
  const dataType = be32In(attributes, 6)
  return {
    table,
    name: textIn(attributes, 2) ?? '',
    key: typesOf(be32In(attributes, 4) ?? 0),
    ...(dataType !== undefined && { data: dataType === VERDICT_TYPE ? ('verdict' as const) : typesOf(dataType) }),
    ...(flags & SET_FLAGS.interval && { interval: true }),
    ...(flags & SET_FLAGS.dynamic && { dynamic: true }),
    ...(timeoutMs && { timeoutMs }),
    ...(size && { size }),
    ...(comment !== undefined && { comment }),
  }
}

const TYPE_NAMES = new Map(Object.entries(NFT_TYPES).map(([name, { id }]) => [id as number, name as NftType]))

function typesOf(id: number): NftType[] {
  const types: NftType[] = []
  for (let rest = id; rest > 0; rest = Math.floor(rest / 64)) types.unshift(TYPE_NAMES.get(rest % 64) ?? 'integer')
  return types
}

interface ReadElement extends NftElement {
  readonly isEnd: boolean
}

/** All of one message into `found`. */
export function readElements(message: NetlinkMessage, found: ReadElement[]): void {
  const list = objectAttributes(message).get(3)
  if (!list) return
  eachAttribute(list, 0, (_, element) => found.push(readElement(attributesOf(element))))
}

function readElement(attributes: Attributes): ReadElement {
  const key = readData(attributes.get(1))!
  const keyEnd = readData(attributes.get(10))
  const data = readData(attributes.get(2))
  const verdict = readVerdict(attributes.get(2))
  const timeoutMs = Number(be64In(attributes, 4) ?? 0n)
  const comment = commentOf(attributes.get(6), ELEMENT_COMMENT)
  return {
    key,
    ...(keyEnd && !keyEnd.equals(key) && { keyEnd }),
    ...(data && { data }),
    ...(verdict && { verdict }),
    ...(timeoutMs && { timeoutMs }),
    ...(comment !== undefined && { comment }),
    isEnd: ((be32In(attributes, 3) ?? 0) & INTERVAL_END) !== 0,
  }
}

/** Puts the two ends of each range together again. */
export function joinRanges(found: readonly ReadElement[], set: NftSet): NftElement[] {
  if (!set.interval || set.key.length > 1) return found.map(({ isEnd, ...element }) => element)
  // Where one range ends and the next begins there are two elements of one key: the end comes first.
  const sorted = [...found].sort((a, b) => Buffer.compare(a.key, b.key) || Number(b.isEnd) - Number(a.isEnd))
  const joined: NftElement[] = []
  for (const [index, { isEnd, ...element }] of sorted.entries()) {
    if (isEnd) continue
    const end = sorted[index + 1]
    const keyEnd = end ? predecessor(end.key) : Buffer.alloc(element.key.length, 0xff)
    joined.push(keyEnd.equals(element.key) ? element : { ...element, keyEnd })
  }
  return joined
}

function predecessor(bytes: Uint8Array): Buffer {
  const previous = Buffer.from(bytes)
  for (let i = previous.length - 1; i >= 0; i--) {
    const byte = previous[i]!
    previous[i] = byte - 1
    if (byte !== 0) break
  }
  return previous
}

export function readGeneration(message: NetlinkMessage): NftGeneration {
  const attributes = objectAttributes(message)
  const processId = be32In(attributes, 2)
  const processName = textIn(attributes, 3)
  return {
    generation: be32In(attributes, 1) ?? 0,
    ...(processId !== undefined && { processId }),
    ...(processName !== undefined && { processName }),
  }
}
