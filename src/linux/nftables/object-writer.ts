/** The operations of a transaction as netlink messages. */

import { NLM_F_APPEND, NLM_F_CREATE, NLM_F_REQUEST } from '../netlink/socket.ts'
import type { NetlinkWriter } from '../netlink/writer.ts'
import type { NftOperation } from '../nft-transaction.ts'
import { lengthOf, NFT_TYPES, type NftType } from '../nft-values.ts'
import { NFT_HOOKS, type NftBaseChain, type NftChain, type NftRule, type NftSet, type NftTable } from '../nftables.ts'
import { commentUserData, FAMILIES, LIST_ELEMENT } from './attributes.ts'
import { writeElements } from './element-writer.ts'
import { writeExpressions } from './expression-writer.ts'

export const SUBSYSTEM = 10
export const MESSAGES = {
  newTable: 0,
  getTable: 1,
  deleteTable: 2,
  newChain: 3,
  getChain: 4,
  deleteChain: 5,
  newRule: 6,
  getRule: 7,
  deleteRule: 8,
  newSet: 9,
  getSet: 10,
  deleteSet: 11,
  newElement: 12,
  getElement: 13,
  deleteElement: 14,
  newGeneration: 15,
  getGeneration: 16,
  trace: 17,
} as const
const BATCH_BEGIN = 0x10
const BATCH_END = 0x11
const BATCH_GENERATION = 1

export const SET_FLAGS = { interval: 4, map: 8, timeout: 0x10, dynamic: 0x20, concatenation: 0x80 } as const
/** A map whose data are verdicts has this instead of a type, and data of 16 bytes. */
export const VERDICT_TYPE = 0xffffff00
const VERDICT_BYTES = 16
export const RULE_COMMENT = 0
export const SET_COMMENT = 7

export const messageType = (message: number) => (SUBSYSTEM << 8) | message

/** struct nfgenmsg */
export const writeFamily = (to: NetlinkWriter, family: number) => to.u8(family).u8(0).be16(0)

/**
 * Writes the whole batch. What it returns is, for each sequence number, the place of the operation it belongs to: by it an
 * error finds its object.
 */
export function writeBatch(
  to: NetlinkWriter,
  operations: readonly NftOperation[],
  generation: number | undefined,
): (number | undefined)[] {
  const operationBySequence: (number | undefined)[] = [undefined]
  writeBoundary(to, BATCH_BEGIN, 0, generation)
  const batch: Batch = {
    to,
    begin(message, flags, family) {
      const start = to.beginMessage(messageType(message), flags | NLM_F_REQUEST, operationBySequence.length)
      writeFamily(to, family)
      operationBySequence.push(this.operation)
      return start
    },
    operation: 0,
  }
  for (const [index, operation] of operations.entries()) {
    batch.operation = index
    writeOperation(batch, operation)
  }
  writeBoundary(to, BATCH_END, operationBySequence.length, undefined)
  return operationBySequence
}

export interface Batch {
  readonly to: NetlinkWriter
  begin(message: number, flags: number, family: number): number
  operation: number
}

function writeBoundary(to: NetlinkWriter, type: number, sequence: number, generation: number | undefined): void {
  const start = to.beginMessage(type, NLM_F_REQUEST, sequence)
  to.u8(0).u8(0).be16(SUBSYSTEM)
  if (generation !== undefined) to.attributeBe32(BATCH_GENERATION, generation)
  to.endMessage(start)
}

function writeOperation(batch: Batch, operation: NftOperation): void {
  switch (operation.op) {
    case 'add-table':
    case 'delete-table':
      writeTable(batch, operation.op === 'add-table', operation.table)
      break
    case 'add-chain':
    case 'delete-chain':
      writeChain(batch, operation.op === 'add-chain', operation.chain)
      break
    case 'flush-chain':
      writeRuleDeletion(batch, operation.chain, undefined)
      break
    case 'delete-rule':
      writeRuleDeletion(batch, operation.chain, operation.handle)
      break
    case 'add-rule':
    case 'insert-rule':
      writeRule(batch, operation.op === 'add-rule', operation.chain, operation.rule)
      break
    case 'add-set':
      writeSet(batch, operation.set)
      break
    case 'delete-set':
      writeSetName(batch, MESSAGES.deleteSet, operation.set)
      break
    // A deletion that names no elements means all.
    case 'flush-set':
      writeSetName(batch, MESSAGES.deleteElement, operation.set)
      break
    case 'add-elements':
    case 'delete-elements':
      writeElements(batch, operation.set, operation.elements, operation.op === 'add-elements')
      break
  }
}

function writeTable(batch: Batch, adding: boolean, { family, name }: NftTable): void {
  const message = adding ? MESSAGES.newTable : MESSAGES.deleteTable
  const start = batch.begin(message, adding ? NLM_F_CREATE : 0, FAMILIES[family])
  batch.to.attributeString(1, name).endMessage(start)
}

function writeSetName(batch: Batch, message: number, { table, name }: NftSet): void {
  const start = batch.begin(message, 0, FAMILIES[table.family])
  batch.to.attributeString(1, table.name).attributeString(2, name).endMessage(start)
}

function writeChain(batch: Batch, adding: boolean, chain: NftChain): void {
  const { to } = batch
  const message = adding ? MESSAGES.newChain : MESSAGES.deleteChain
  const start = batch.begin(message, adding ? NLM_F_CREATE : 0, FAMILIES[chain.table.family])
  to.attributeString(1, chain.table.name).attributeString(3, chain.name)
  if (adding && chain.base) writeBase(to, chain.base)
  to.endMessage(start)
}

function writeBase(to: NetlinkWriter, base: NftBaseChain): void {
  to.nest(4, () => to.attributeBe32(1, NFT_HOOKS[base.hook]).attributeBe32(2, base.priority))
  to.attributeString(7, base.type).attributeBe32(5, base.policy === 'drop' ? 0 : 1)
}

function writeRule(batch: Batch, atEnd: boolean, chain: NftChain, rule: NftRule): void {
  const { to } = batch
  const flags = NLM_F_CREATE | (atEnd ? NLM_F_APPEND : 0)
  const start = batch.begin(MESSAGES.newRule, flags, FAMILIES[chain.table.family])
  to.attributeString(1, chain.table.name).attributeString(2, chain.name)
  writeExpressions(to, 4, rule.expressions, chain.table.family)
  if (rule.comment !== undefined) to.attributeBytes(7, commentUserData(RULE_COMMENT, rule.comment))
  to.endMessage(start)
}

/** Without a handle: all of the chain. */
function writeRuleDeletion(batch: Batch, chain: NftChain, handle: bigint | undefined): void {
  const { to } = batch
  const start = batch.begin(MESSAGES.deleteRule, 0, FAMILIES[chain.table.family])
  to.attributeString(1, chain.table.name).attributeString(2, chain.name)
  if (handle !== undefined) to.attributeBe64(3, handle)
  to.endMessage(start)
}

function writeSet(batch: Batch, set: NftSet): void {
  const { to } = batch
  const start = batch.begin(MESSAGES.newSet, NLM_F_CREATE, FAMILIES[set.table.family])
  to.attributeString(1, set.table.name).attributeString(2, set.name).attributeBe32(3, setFlags(set))
  to.attributeBe32(4, typeId(set.key)).attributeBe32(5, lengthOf(set.key))
  if (set.data === 'verdict') to.attributeBe32(6, VERDICT_TYPE).attributeBe32(7, VERDICT_BYTES)
  else if (set.data) to.attributeBe32(6, typeId(set.data)).attributeBe32(7, lengthOf(set.data))
  // Only needed to name a set inside the batch; the kernel insists on one.
  to.attributeBe32(10, batch.operation + 1)
  writeDescription(to, set)
  if (set.timeoutMs) to.attributeBe64(11, BigInt(set.timeoutMs))
  if (set.comment !== undefined) to.attributeBytes(13, commentUserData(SET_COMMENT, set.comment))
  to.endMessage(start)
}

const isConcatenatedInterval = (set: NftSet) => set.interval === true && set.key.length > 1

function setFlags(set: NftSet): number {
  return (
    (set.interval ? SET_FLAGS.interval : 0) |
    (set.data ? SET_FLAGS.map : 0) |
    (set.timeoutMs ? SET_FLAGS.timeout : 0) |
    (set.dynamic ? SET_FLAGS.dynamic : 0) |
    (isConcatenatedInterval(set) ? SET_FLAGS.concatenation : 0)
  )
}

function writeDescription(to: NetlinkWriter, set: NftSet): void {
  const concatenated = isConcatenatedInterval(set)
  if (!set.size && !concatenated) return
  to.nest(9, () => {
    if (set.size) to.attributeBe32(1, set.size)
    if (!concatenated) return
    to.nest(2, () => {
      for (const type of set.key) to.nest(LIST_ELEMENT, () => to.attributeBe32(1, NFT_TYPES[type].bytes))
    })
  })
}

/** Six bits for each part of a concatenation. */
const typeId = (types: readonly NftType[]) => types.reduce((id, type) => id * 64 + NFT_TYPES[type].id, 0)
