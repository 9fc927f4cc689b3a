import { NLM_F_CREATE } from '../netlink/socket.ts'
import type { NetlinkWriter } from '../netlink/writer.ts'
import type { NftElement, NftSet } from '../nftables.ts'
import { commentUserData, FAMILIES, LIST_ELEMENT, writeData, writeVerdict } from './attributes.ts'
import type { Batch } from './object-writer.ts'

const NEW_ELEMENT = 12
const DELETE_ELEMENT = 14
export const ELEMENT_COMMENT = 0
export const INTERVAL_END = 1
/** The list of a message is one attribute, which cannot hold 64 KiB: longer lists take several messages. */
const LONGEST_LIST = 60_000

export function writeElements(batch: Batch, set: NftSet, elements: readonly NftElement[], adding: boolean): void {
  const { to } = batch
  const ranges = set.interval === true && set.key.length === 1
  let message = -1
  let list = -1
  for (const element of elements) {
    if (message >= 0 && to.length - list > LONGEST_LIST) {
      to.endNest(list).endMessage(message)
      message = -1
    }
    if (message < 0) {
      const family = FAMILIES[set.table.family]
      message = batch.begin(adding ? NEW_ELEMENT : DELETE_ELEMENT, adding ? NLM_F_CREATE : 0, family)
      to.attributeString(1, set.table.name).attributeString(2, set.name)
      list = to.beginNest(3)
    }
    writeElement(to, element, adding, !ranges)
    if (ranges) writeRangeEnd(to, element)
  }
  if (message >= 0) to.endNest(list).endMessage(message)
}

function writeElement(to: NetlinkWriter, element: NftElement, adding: boolean, withKeyEnd: boolean): void {
  const start = to.beginNest(LIST_ELEMENT)
  writeData(to, 1, element.key)
  if (withKeyEnd && element.keyEnd) writeData(to, 10, element.keyEnd)
  if (adding) {
    if (element.verdict) writeVerdict(to, 2, element.verdict)
    else if (element.data) writeData(to, 2, element.data)
    if (element.timeoutMs) to.attributeBe64(4, BigInt(element.timeoutMs))
    if (element.comment !== undefined) to.attributeBytes(6, commentUserData(ELEMENT_COMMENT, element.comment))
  }
  to.endNest(start)
}

/** Ranges of a single value are two elements in the kernel: the first one in, and the first one out again. */
function writeRangeEnd(to: NetlinkWriter, element: NftElement): void {
  const end = successor(element.keyEnd ?? element.key)
  if (!end) return
  const start = to.beginNest(LIST_ELEMENT)
  writeData(to, 1, end)
  to.attributeBe32(3, INTERVAL_END).endNest(start)
}

/** The next number of the same length; none after the last. */
function successor(bytes: Uint8Array): Uint8Array | undefined {
  const next = Uint8Array.from(bytes)
  for (let i = next.length - 1; i >= 0; i--) {
    next[i] = next[i]! + 1
    if (next[i] !== 0) return next
  }
  return undefined
}
